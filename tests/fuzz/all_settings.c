/* For compare-git.py. Reads a git configuration and prints all that derive/gitread.c finds in it,
 * as 'git config -z --list' does. */
#include "derive/derive_priv.h"

#include <stdio.h>

static int show(void *context, const struct derive_gitsetting *setting)
{
    (void) context;
    (void) printf("%s%s%s.%s\n%s", setting->section, setting->subsection != NULL ? "." : "",
                  setting->subsection != NULL ? setting->subsection : "", setting->name,
                  setting->value);
    (void) putchar('\0');
    return 0;
}

int main(void)
{
    static char text[1u << 16];
    const size_t size = fread(text, 1, sizeof text, stdin);
    unsigned flaws = 0;

    return derive_gitconfig_each(text, size, show, NULL, &flaws) < 0 || flaws != 0;
}
