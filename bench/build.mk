# What bench/run.sh builds, inside and outside: the sources that need nothing but libc.
objects := $(patsubst %.c,%.o,$(filter-out %/json.c %/print.c %/seccomp.c %_main.c,$(wildcard src/base/*.c src/policy/*.c src/job/*.c)))

all: $(objects)

%.o: %.c
	gcc -std=gnu17 -D_GNU_SOURCE -include src/base/banned.h -DWATTLE_VERSION='"bench"' -Isrc -O2 -c -o $@ $<
