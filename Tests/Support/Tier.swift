import Glibc
import Testing

/// Which tests run: the tests of the ordinary check, which is for every change of the code, or all tests.
///
/// `deploy/test` runs the tier `ordinary`, `deploy/test --full` the tier `full`. `Tests/tiers.json` limits the
/// seconds and each ``Cost`` of a test. `deploy/test` applies these limits in the ordinary check without a sanitizer. A
/// test that exceeds the limit of a cost fails. A test that exceeds the limit of seconds gets a warning, and fails
/// above four times the limit.
package enum Tier: String, Sendable {
    case ordinary, full

    /// The tier in `BELFRY_TIER`, or the ordinary tier.
    package static let current = getenv("BELFRY_TIER").flatMap { Tier(rawValue: String(cString: $0)) } ?? .ordinary

    /// The first value in the ordinary check, the second in the full check. An example is a number of rounds.
    package static func value(_ ordinary: Int, full: Int) -> Int { current == .full ? full : ordinary }

    /// All cases in the full check. In the ordinary check, one case that the seed of the run selects.
    package static func some<Case>(of cases: [Case]) -> [Case] {
        current == .full ? cases : [cases[Int(Seeded.ofThisRun % UInt64(cases.count))]]
    }
}

extension Trait where Self == ConditionTrait {
    /// Runs the test only in `deploy/test --full`, because it costs more than the ordinary check allows.
    package static var full: Self { .enabled(if: Tier.current == .full, "runs in deploy/test --full") }
}

/// A kind of work that makes a test slow. `deploy/test` adds up the costs of each test.
package enum Cost: String, Sendable {
    /// Programs that the test starts, including the stages that `belfry up` starts.
    case processes
    /// Simulated pipelines: the `World` of SimulationTests.
    case worlds
    /// Stages that the test kills with `LivePipeline.kill`. Other kills are not counted.
    case kills

    /// Adds a cost to the test that runs now. May be called on any thread.
    package static func spend(_ cost: Cost, _ count: Int = 1) {
        guard costsFile >= 0 else { return }
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        let line = "\(now.tv_sec).\(String(now.tv_nsec + 1_000_000_000).dropFirst()) \(cost.rawValue) \(count)\n"
        _ = Array(line.utf8).withUnsafeBytes { write(costsFile, $0.baseAddress, $0.count) }
    }

    /// Adds the cost of a program that the test starts. `belfry up` counts as six processes, because it usually starts
    /// five stages.
    package static func spend(onProgram words: [String]) {
        spend(.processes, words.contains("up") && !words.contains("--in-process") ? 6 : 1)
    }

    /// The open file to which costs are written, and from which `deploy/test` reads them. `BELFRY_COSTS` is its path.
    /// The value is -1 without this variable, or if the file cannot be opened.
    private static let costsFile: Int32 =
        getenv("BELFRY_COSTS").map { open($0, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o644) } ?? -1
}
