import ArgumentParser

struct IngestBenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ingest",
        abstract: "Measures ingest with few and with many live records.",
        discussion: """
            Makes records with one producer, then changes them at random: of ten changes eight save one of the records, \
            one saves a new record, and one deletes one of the records. For the delete of a record that still exists, \
            ingest reads the record's last fields from its log. Then ingest is stopped and started again.

            The report has a row for each number of records: the changes a second; the bytes of memory for each of \
            these records, from the growth of the process between ingest's first start and its restart; the time of \
            the restart; and the longest pause of the stage during the changes. The changes save new records, whose \
            memory counts too: with many more changes than records, the bytes for each record are overstated. Ten \
            million records need 6 GB on the disk and a minute or two.

            A new virtual machine needs --touch-memory. Its host gives it a page of memory only when the page is first \
            used. That may take longer than ten changes, and only the rows with many records use new pages.

              belfry bench ingest --touch-memory
              belfry bench ingest --records 1000000 --changes 2000000 --in /srv/belfry
            """)

    @Option(
        parsing: .upToNextOption,
        help: "How many records to make before the changes; the report has a row for each number.")
    var records = [10_000, 1_000_000, 10_000_000]

    @Option(help: "How many changes to send for each row.")
    var changes = 1_000_000

    @Flag(help: "Use all free memory once before measuring. Takes half a minute for 20 GB.")
    var touchMemory = false

    @OptionGroup var common: BenchOptions

    func validate() throws {
        if records.isEmpty { throw ValidationError("--records has no number") }
        if let wrong = records.first(where: { !(1...100_000_000).contains($0) }) {
            throw ValidationError("--records takes numbers from 1 to 100000000, not \(wrong)")
        }
        guard changes > 0 else { throw ValidationError("--changes takes a number from 1 on, not \(changes)") }
    }

    func run() async throws {
        BuildKind.warnIfDebug()
        let interruption = Interruption.watch()
        if touchMemory { try FreeMemory.touch(interruption) }
        var rows: [IngestBench.Result] = []
        for records in records {
            let runs = try await common.measure(by: \.changesPerSecond) { [changes] scratch in
                try await IngestBench(
                    records: records, changes: changes, folder: scratch.path, interruption: interruption
                ).run()
            }
            rows.append(runs.median)
        }
        try common.print(IngestBenchReport(rows: rows, changes: changes, runs: common.runs))
    }
}

struct IngestBenchReport: BenchReport {
    let rows: [IngestBench.Result]
    let changes: Int
    let runs: Int

    var lines: [String] {
        var table = TextTable(
            "RECORDS", "creates/s", "changes/s", "of first", "bytes/record", "restart", "longest pause")
        for row in rows {
            table.add(
                row.records.grouped, row.createsPerSecond.text(decimals: 0), row.changesPerSecond.text(decimals: 0),
                ratio(row).text(decimals: 2), row.bytesPerRecord.text(decimals: 0),
                "\(row.restartSeconds.text(decimals: 2)) s", row.longestPause?.text ?? "")
        }
        return ["\(changes.of("change")), \(runs.of("run")), \(BuildKind.word) build", ""] + table.lines
    }

    private func ratio(_ row: IngestBench.Result) -> Double {
        row.changesPerSecond / (rows.first?.changesPerSecond ?? 1)
    }

    var json: ReportValue {
        .object([
            "bench": .text("ingest"), "build": .text(BuildKind.word), "changes": .count(changes),
            "runs": .count(runs), "rows": .list(rows.map(json)),
        ])
    }

    private func json(_ row: IngestBench.Result) -> ReportValue {
        .object([
            "records": .count(row.records), "createsPerSecond": .number(row.createsPerSecond),
            "changesPerSecond": .number(row.changesPerSecond), "ratio": .number(ratio(row)),
            "bytesPerRecord": .number(row.bytesPerRecord), "restartSeconds": .number(row.restartSeconds),
            "pauses": .list(row.pauses.map(\.report)),
        ])
    }
}
