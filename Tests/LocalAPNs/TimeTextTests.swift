import Testing

@testable import LocalAPNs

struct TimeTextTests {
    @Test(arguments: [
        (0, "1970-01-01T00:00:00.000Z"), (951_782_400_123, "2000-02-29T00:00:00.123Z"),
        (1_798_761_599_999, "2026-12-31T23:59:59.999Z"), (1_772_323_200_000, "2026-03-01T00:00:00.000Z"),
    ])
    func `a time is written in the form of RFC 3339`(milliseconds: Int64, text: String) {
        #expect(TimeText.of(milliseconds) == text)
    }
}
