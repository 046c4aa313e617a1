#include <stdbool.h>
#include <stdint.h>
#include <string.h>

// Compares many numbers in one step, and returns one bit for each result. Swift's vectors cannot return these bits.

#if defined(__SSE2__)

#include <emmintrin.h>

/// One bit for each of sixteen bytes: 1 if it is a quote, a backslash, below 0x20 or not ASCII.
static inline uint32_t not_plain_of_16(const uint8_t *bytes) {
    const __m128i text = _mm_loadu_si128((const __m128i *)bytes);
    const __m128i quote = _mm_cmpeq_epi8(text, _mm_set1_epi8('"'));
    const __m128i backslash = _mm_cmpeq_epi8(text, _mm_set1_epi8('\\'));
    // This comparison is signed: bytes that are not ASCII are below zero.
    const __m128i control = _mm_cmplt_epi8(text, _mm_set1_epi8(0x20));
    return (uint32_t)_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, backslash), control));
}

static inline uint32_t inside_of_4(
    const int32_t *lows, const int32_t *highs, const int32_t *needs, __m128i number, __m128i absent) {
    const __m128i below = _mm_cmpgt_epi32(_mm_loadu_si128((const __m128i *)lows), number);
    const __m128i above = _mm_cmplt_epi32(_mm_loadu_si128((const __m128i *)highs), number);
    const __m128i missing = _mm_and_si128(_mm_loadu_si128((const __m128i *)needs), absent);
    const __m128i complete = _mm_cmpeq_epi32(missing, _mm_setzero_si128());
    return (uint32_t)_mm_movemask_ps(_mm_castsi128_ps(_mm_andnot_si128(_mm_or_si128(below, above), complete)));
}

/// One bit for each of sixteen intervals: 1 if the interval contains the number, and its element of `needs` has no bit
/// in common with `absent`.
static inline uint32_t inside_of_16(
    const int32_t *lows, const int32_t *highs, const int32_t *needs, int32_t number, uint32_t absent) {
    const __m128i numbers = _mm_set1_epi32(number), absent_bits = _mm_set1_epi32((int32_t)absent);
    uint32_t found = 0;
    for (int index = 0; index < 16; index += 4)
        found |= inside_of_4(lows + index, highs + index, needs + index, numbers, absent_bits) << index;
    return found;
}

#else

static inline uint32_t not_plain_of_16(const uint8_t *bytes) {
    uint32_t found = 0;
    for (int index = 0; index < 16; index++) {
        const uint8_t byte = bytes[index];
        found |= (uint32_t)(byte == '"' || byte == '\\' || byte < 0x20 || byte >= 0x80) << index;
    }
    return found;
}

static inline uint32_t inside_of_16(
    const int32_t *lows, const int32_t *highs, const int32_t *needs, int32_t number, uint32_t absent) {
    uint32_t found = 0;
    for (int index = 0; index < 16; index++)
        found |= (uint32_t)(lows[index] <= number && number <= highs[index] && !((uint32_t)needs[index] & absent)) << index;
    return found;
}

#endif
