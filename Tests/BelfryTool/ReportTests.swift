import Testing

@testable import BelfryTool

struct ReportTests {
    @Test func `a table lines up its first column to the left and the others to the right`() {
        var table = TextTable("STAGE", "CPU s", "peak")
        table.add("ingest", "1.50", "9 MB")
        table.add("(the driver)", "12.00", "101.5 MB")
        #expect(
            table.lines == [
                "STAGE         CPU s      peak",
                "ingest         1.50      9 MB",
                "(the driver)  12.00  101.5 MB",
            ])
    }

    @Test(arguments: [
        (1234.567, 2, "1,234.57"), (0.05, 1, "0.1"), (0.994, 2, "0.99"), (0.999, 2, "1.00"), (-0.001, 2, "0.00"),
        (-1.25, 1, "-1.3"), (999_999.6, 0, "1,000,000"), (.infinity, 2, "-"),
    ])
    func `numbers have a fixed number of decimals`(_ number: Double, _ decimals: Int, _ text: String) {
        #expect(number.text(decimals: decimals) == text)
    }

    @Test func `reports are JSON with members in their order`() {
        let report = ReportValue.object([
            "bench": .text("a \"b\""), "runs": .count(3), "rate": .number(1234.56789), "isRight": .flag(true),
            "list": .list([.object([]), .number(.infinity)]),
        ])
        #expect(
            report.json == #"{"bench":"a \"b\"","runs":3,"rate":1234.568,"isRight":true,"list":[{},null]}"#)
    }
}
