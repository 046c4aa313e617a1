#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// The processor's own CRC-32C instruction (SSE 4.2), for which Swift has no function.

#if defined(__x86_64__)

static inline bool crc32c_is_supported(void) { return __builtin_cpu_supports("sse4.2"); }

/// Adds whole words to the register.
__attribute__((target("sse4.2"))) static inline uint32_t crc32c_words(
    uint32_t crc, const uint8_t *bytes, size_t words) {
    uint64_t sum = crc;
    for (size_t index = 0; index < words; index++) {
        uint64_t word;
        memcpy(&word, bytes + 8 * index, 8);
        sum = __builtin_ia32_crc32di(sum, word);
    }
    return (uint32_t)sum;
}

/// Adds single bytes to the register.
__attribute__((target("sse4.2"))) static inline uint32_t crc32c_bytes(
    uint32_t crc, const uint8_t *bytes, size_t count) {
    for (size_t index = 0; index < count; index++) crc = __builtin_ia32_crc32qi(crc, bytes[index]);
    return crc;
}

/// Adds three consecutive runs, each of `words` words, to three registers: the instruction needs three cycles, and a
/// new one can begin in each cycle.
__attribute__((target("sse4.2"))) static inline void crc32c_three_runs(
    uint32_t sums[3], const uint8_t *bytes, size_t words) {
    uint64_t first = sums[0], second = sums[1], third = sums[2];
    for (size_t index = 0; index < words; index++) {
        uint64_t one, two, three;
        memcpy(&one, bytes + 8 * index, 8);
        memcpy(&two, bytes + 8 * (words + index), 8);
        memcpy(&three, bytes + 8 * (2 * words + index), 8);
        first = __builtin_ia32_crc32di(first, one);
        second = __builtin_ia32_crc32di(second, two);
        third = __builtin_ia32_crc32di(third, three);
    }
    sums[0] = (uint32_t)first, sums[1] = (uint32_t)second, sums[2] = (uint32_t)third;
}

#else

static inline bool crc32c_is_supported(void) { return false; }

static inline uint32_t crc32c_words(uint32_t crc, const uint8_t *bytes, size_t words) {
    (void)bytes, (void)words;
    return crc;
}

static inline uint32_t crc32c_bytes(uint32_t crc, const uint8_t *bytes, size_t count) {
    (void)bytes, (void)count;
    return crc;
}

static inline void crc32c_three_runs(uint32_t sums[3], const uint8_t *bytes, size_t words) {
    (void)sums, (void)bytes, (void)words;
}

#endif
