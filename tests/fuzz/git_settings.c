/* For compare-git.py. Reads a git configuration and prints what the guard understood, as
 * 'git config -z --list' does; with an argument, the vetted copy of one that stands there already.
 */
#include "fence/guard/vet.h"

#include <stdio.h>

static int show(void *context, const struct guard_setting *setting)
{
    (void) context;
    (void) printf("%s%s%s.%s", setting->section, setting->has_subsection ? "." : "",
                  setting->subsection, setting->key);
    if (setting->has_value)
        (void) printf("\n%s", setting->value);
    (void) putchar('\0');
    return 0;
}

int main(int argc, char **argv)
{
    static char text[GUARD_VET_LIMIT];
    static char copy[4 * GUARD_VET_LIMIT];
    const size_t size = fread(text, 1, sizeof text, stdin);
    const struct guard_config config = {
        .folder = "/p/.git", .text = text, .size = size, .old = text, .old_size = size};
    struct guard_vetted vetted;
    struct err err = {0};

    (void) argv;
    if (argc == 1)
        return guard_config_each(text, size, show, NULL, &err) < 0;
    if (guard_vet_config(&config, copy, sizeof copy, &vetted, &err) < 0)
        return 1;
    return fwrite(copy, 1, vetted.size, stdout) != vetted.size;
}
