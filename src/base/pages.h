/* Memory of the program itself. Layer 0. */
#ifndef WATTLE_BASE_PAGES_H
#define WATTLE_BASE_PAGES_H

/* Gives back the pages of the program's code that are in memory: who now waits for hours needs few
 * of them, and they come back from the file by themselves. Never fails; at worst nothing is freed.
 */
void pages_give_back(void);

#endif
