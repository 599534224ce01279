int answer(int x) { return x + 1; } int main(void) { return answer(41) == 42 ? 0 : 1; }
