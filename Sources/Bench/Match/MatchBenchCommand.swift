import ArgumentParser
import Foundation
import ZeroMQ

struct MatchBenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "match",
        abstract: "Measures matching alone: from a change's JSON bytes to the subscriptions that watch it.",
        discussion: """
            Makes a workload from a seed, the same bytes everywhere, or reads one: subscriptions (lines of \
            subscription.save) and changes (record.save and record.delete as in the log of changes). Builds the index and \
            matches the changes on one thread: three passes after one to warm up, the best counts. In the same run: a look \
            at every subscription, for the first changes only; the changes with one operation in a hundred a delete or \
            save of a subscription; a snapshot's way to the disk and back. All ways must find the same pairs, whose \
            SHA-256 stands in the report: of lines '<change, from 0> <subscriptionID>', in order.

              belfry bench match                     10,000 and 100,000
              belfry bench match --count 1000000     a million: 2 GB of memory
              belfry bench match --count 2000 --dense --json
              belfry bench match --count 10000 --save small
              belfry bench match --subscriptions s.ndjson --changes c.ndjson
            """)

    @Option(help: "How many subscriptions to make, one or several numbers: 10000,100000.")
    var count: Counts?

    @Option(help: "How many changes to make.")
    var length = 20_000

    @Option(help: "The seed of what is made.")
    var seed: UInt64 = 1

    @Flag(help: "Make fewer record types, fuller records and shorter predicates: much matches.")
    var dense = false

    @Option(
        help: "A file of subscription.save commands, each of another subscription, in place of made ones.",
        completion: .file())
    var subscriptions: String?

    @Option(help: "A file of changes, one a line.", completion: .file())
    var changes: String?

    @Option(
        help: "Write what matches to this file, and measure nothing: a line '<change, from 0> <subscriptionID>' each.",
        completion: .file())
    var pairs: String?

    @Option(
        help: "Write subscriptions.ndjson and changes.ndjson to this folder, and measure nothing.",
        completion: .directory)
    var save: String?

    @Option(help: "How many changes to match by a look at every subscription.")
    var scanned = 200

    @OptionGroup var common: BenchOptions

    func validate() throws {
        guard (subscriptions == nil) == (changes == nil) else {
            throw ValidationError("--subscriptions and --changes go together")
        }
        guard subscriptions == nil || count == nil && save == nil else {
            throw ValidationError("files are measured as they are: leave out --count and --save")
        }
        guard pairs == nil && save == nil || count?.numbers.count ?? 1 == 1 else {
            throw ValidationError("--pairs and --save take one --count")
        }
        guard (1...10_000_000).contains(length), scanned > 0 else {
            throw ValidationError("--length takes a number from 1 to 10000000, --scanned one from 1 on")
        }
    }

    func run() async throws {
        if let subscriptions, let changes {
            return try await run(MatchInput(subscriptions), MatchInput(changes))
        }
        let isForFiles = pairs != nil || save != nil
        for count in count?.numbers ?? (isForFiles ? [10_000] : [10_000, 100_000]) {
            let workload = MatchWorkload(seed: seed, subscriptions: count, isDense: dense)
            let subscriptions = MatchInput(name: "subscriptions", workload.forEachSubscription)
            let changes = MatchInput(name: "changes") { workload.forEachChange(length, $0) }
            if let save { return try write(subscriptions, changes, to: save) }
            try await run(subscriptions, changes)
        }
    }

    private func write(_ subscriptions: MatchInput, _ changes: MatchInput, to folder: String) throws {
        do { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true) } catch {
            throw ToolFailure(.cannotCreate, "cannot make \(folder): \(error.localizedDescription)")
        }
        try subscriptions.write(to: folder + "/subscriptions.ndjson")
        try changes.write(to: folder + "/changes.ndjson")
    }

    private func run(_ subscriptions: MatchInput, _ changes: MatchInput) async throws {
        guard subscriptions.count > 0, changes.count > 0 else {
            throw ToolFailure(.badData, "both files need at least one line")
        }
        let scratch = try ScratchFolder(in: common.folder)
        defer { scratch.finish() }
        let bench = MatchBench(
            subscriptions: subscriptions, changes: changes, scanned: scanned, folder: scratch.path)
        if let pairs { return try bench.writePairs(to: pairs) }
        BuildKind.warn()
        let runs = common.runs
        let measures = try await SocketThread.run(name: "bench") { try (0..<runs).map { _ in try bench.run() } }
        guard let median = measures.median(by: \.perSecond) else { return }
        try common.print(MatchBenchReport(measure: median, runs: runs), ofRuns: measures.map(\.perSecond))
    }
}

extension MatchBenchCommand {
    /// One number or several, with commas between them.
    struct Counts: ExpressibleByArgument {
        let numbers: [Int]

        init?(argument: String) {
            let numbers = argument.split(separator: ",", omittingEmptySubsequences: false).map { Int($0) ?? 0 }
            guard numbers.allSatisfy({ (1...9_999_999).contains($0) }) else { return nil }
            self.numbers = numbers
        }
    }
}
