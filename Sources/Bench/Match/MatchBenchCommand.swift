import ArgumentParser
import Foundation
import ZeroMQ

struct MatchBenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "match",
        abstract: "Measures only matching: from a change's JSON bytes to the subscriptions that watch it.",
        discussion: """
            Makes a workload from a seed, the same bytes on every machine, or reads one from files: subscriptions (lines of \
            subscription.save) and changes (record.save and record.delete as in the log of changes). Builds the index \
            once, then matches the changes nine times on one thread; the median pass counts. Then it matches the first \
            changes by a scan of all subscriptions, matches all changes while one operation in a hundred deletes or \
            saves a subscription, and writes and loads a snapshot. All ways must find the same pairs of change and \
            subscription. While subscriptions are deleted and saved, only the pairs of the other subscriptions are \
            compared. The report shows one SHA-256 for all pairs. It is computed from lines \
            '<change, from 0> <subscriptionID>', one for each pair, in the order of the changes, then of the IDs.

              belfry bench match                     10,000 and 100,000 subscriptions
              belfry bench match --count 1000000     1,000,000 subscriptions, in 2 GB of memory
              belfry bench match --count 2000 --dense --json
              belfry bench match --count 10000 --save small
              belfry bench match --subscriptions s.ndjson --changes c.ndjson
            """)

    @Option(help: "How many subscriptions to make: one number, or several like 10000,100000.")
    var count: Counts?

    @Option(help: "How many changes to make.")
    var length = 20_000

    @Option(help: "The seed of the workload.")
    var seed: UInt64 = 1

    @Flag(help: "Make fewer record types, fuller records and shorter predicates, so that more pairs match.")
    var dense = false

    @Option(
        help: "Read subscriptions from this file: one subscription.save a line, each subscription once.",
        completion: .file())
    var subscriptions: String?

    @Option(help: "Read changes from this file, one a line.", completion: .file())
    var changes: String?

    @Option(
        help: "Measure nothing, only write the pairs to this file: lines '<change, from 0> <subscriptionID>'.",
        completion: .file())
    var pairs: String?

    @Option(
        help: "Measure nothing, only write the workload to this folder: subscriptions.ndjson and changes.ndjson.",
        completion: .directory)
    var save: String?

    @Option(help: "Match at most this many changes by a scan of all subscriptions.")
    var scanned = 200

    @OptionGroup var common: BenchOptions

    func validate() throws {
        guard (subscriptions == nil) == (changes == nil) else {
            let (given, missing) =
                changes == nil ? ("--subscriptions", "--changes") : ("--changes", "--subscriptions")
            throw ValidationError("\(given) is given without \(missing); give both or neither")
        }
        guard subscriptions == nil || count == nil && save == nil else {
            throw ValidationError("--subscriptions and --changes read a whole workload: leave out --count and --save")
        }
        guard pairs == nil && save == nil || count?.numbers.count ?? 1 == 1 else {
            throw ValidationError("--pairs and --save write one workload: give --count one number")
        }
        guard pairs == nil || save == nil else {
            throw ValidationError("--pairs and --save write different files: give one of them")
        }
        guard (1...10_000_000).contains(length) else {
            throw ValidationError("--length takes a number from 1 to 10000000, not \(length)")
        }
        guard scanned > 0 else { throw ValidationError("--scanned takes a number from 1 on, not \(scanned)") }
    }

    func run() async throws {
        if let subscriptions, let changes {
            return try await run(MatchInput(subscriptions), MatchInput(changes))
        }
        let writesFiles = pairs != nil || save != nil
        for count in count?.numbers ?? (writesFiles ? [10_000] : [10_000, 100_000]) {
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
        try TextFile.write(subscriptions.bytes, to: folder + "/subscriptions.ndjson")
        try TextFile.write(changes.bytes, to: folder + "/changes.ndjson")
    }

    private func run(_ subscriptions: MatchInput, _ changes: MatchInput) async throws {
        for input in [subscriptions, changes] where input.count == 0 {
            throw ToolFailure(.badData, "\(input.name) has no lines")
        }
        let bench = MatchBench(subscriptions: subscriptions, changes: changes, scanLimit: scanned)
        if let pairs { return try bench.writePairs(to: pairs) }
        BuildKind.warnIfDebug()
        let runs = try await common.measure(by: \.perSecond) { scratch in
            try await SocketThread.run(name: "bench") { try bench.run(in: scratch.path) }
        }
        try common.print(
            MatchBenchReport(result: runs.median, runs: common.runs), ofRuns: runs.all.map(\.perSecond))
    }
}

extension MatchBenchCommand {
    /// Numbers separated by commas.
    struct Counts: ExpressibleByArgument {
        let numbers: [Int]

        init?(argument: String) {
            let numbers = argument.split(separator: ",", omittingEmptySubsequences: false).map { Int($0) ?? 0 }
            guard numbers.allSatisfy({ (1...9_999_999).contains($0) }) else { return nil }
            self.numbers = numbers
        }
    }
}
