import Testing

@testable import BelfryTool

struct NumberTests {
    @Test(arguments: [
        (Duration.milliseconds(100), "100 ms"), (.milliseconds(1_500), "1.5 s"), (.seconds(10), "10 s"),
        (.seconds(120), "2 min"), (.zero, "0 ms"),
    ])
    func `a duration is shown in a fitting unit`(duration: Duration, text: String) { #expect(duration.text == text) }

    @Test(arguments: [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567"), (-1_234, "-1,234")])
    func `thousands are separated by commas`(number: Int, text: String) { #expect(number.grouped == text) }

    @Test func `a noun agrees with its number`() {
        #expect(1.of("line") == "1 line")
        #expect(2_000.of("line") == "2,000 lines")
        #expect(2.of("batch") == "2 batches")
        #expect(3.of("push") == "3 pushes")
    }

    @Test(arguments: [
        (UInt64(0), "0 B"), (999, "999 B"), (1_000, "1 kB"), (1_250, "1.3 kB"), (99_949, "99.9 kB"),
        (99_950, "100 kB"), (999_499, "999 kB"), (999_500, "1 MB"), (73_906_170, "73.9 MB"), (123_900_000, "124 MB"),
        (5_000_000_000, "5 GB"),
    ])
    func `sizes have at most one decimal`(bytes: UInt64, text: String) { #expect(byteText(bytes) == text) }
}
