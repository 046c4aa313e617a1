import Glibc
import Testing

/// Which tests run: those of the ordinary check, which follows every change, or all of them.
///
/// `deploy/test` runs the ordinary tier, `deploy/test --full` both. What a test of the ordinary tier may cost is stated
/// in `Tests/tiers.json` and nowhere else; `deploy/test` fails a test that costs more.
package enum Tier: String, Sendable {
    case ordinary, full

    /// What `BELFRY_TIER` says; the ordinary tier without it.
    package static let current = getenv("BELFRY_TIER").flatMap { Tier(rawValue: String(cString: $0)) } ?? .ordinary

    /// How many rounds a test makes: few after every change, more in the full check, where rounds add up.
    package static func rounds(_ ordinary: Int, full: Int) -> Int { current == .full ? full : ordinary }

    /// Cases that are costly and much alike: one that the seed of the run draws, or all in the full check.
    package static func some<Case>(of cases: [Case]) -> [Case] {
        current == .full ? cases : [cases[Int(Seeded.ofThisRun % UInt64(cases.count))]]
    }
}

extension Trait where Self == ConditionTrait {
    /// The test costs more than the ordinary check allows: it runs in `deploy/test --full` only.
    package static var full: Self { .enabled(if: Tier.current == .full, "runs in deploy/test --full") }
}

/// What makes a test slow. `deploy/test` adds up what each test spends.
package enum Cost: String, Sendable {
    /// Programs that the test starts; `belfry up` counts with the stages that it starts.
    case processes
    /// Simulated worlds.
    case worlds
    /// Processes that the test kills.
    case kills

    /// Counts towards the test that runs now, from any thread.
    package static func spend(_ cost: Cost, _ count: Int = 1) {
        guard ledger >= 0 else { return }
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        let line = "\(now.tv_sec).\(String(now.tv_nsec + 1_000_000_000).dropFirst()) \(cost.rawValue) \(count)\n"
        _ = Array(line.utf8).withUnsafeBytes { write(ledger, $0.baseAddress, $0.count) }
    }

    /// Counts a program that the test starts: `belfry up` starts five stages.
    package static func spend(onProgram words: [String]) {
        spend(.processes, words.contains("up") && !words.contains("--in-process") ? 6 : 1)
    }

    /// Where `deploy/test` reads what is spent: the file that `BELFRY_COSTS` names.
    private static let ledger: Int32 =
        getenv("BELFRY_COSTS").map { open($0, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o644) } ?? -1
}
