import Foundation
import Match
import Signing
import TestSupport
import Testing

@testable import Bench

struct MatchWorkloadTests {
    private static func inputs(
        _ seed: UInt64, _ subscriptions: Int, _ changes: Int, isDense: Bool
    ) -> (subscriptions: MatchInput, changes: MatchInput) {
        let workload = MatchWorkload(seed: seed, subscriptions: subscriptions, isDense: isDense)
        return (
            MatchInput(name: "subscriptions", workload.forEachSubscription),
            MatchInput(name: "changes") { workload.forEachChange(changes, $0) }
        )
    }

    private static func digest(_ input: MatchInput) -> String {
        var hash = SHA256()
        input.bytes.withUnsafeBytes { hash.update($0) }
        return hash.digest.hexadecimal
    }

    /// The pairs that the match stage finds.
    private static func pairs(_ subscriptions: MatchInput, _ changes: MatchInput) throws -> MatchPairs {
        var watchers = Watchers()
        var pairs = MatchPairs(keepsText: true)
        try subscriptions.readLines { try watchers.apply($1) }
        try changes.readLines { index, line in
            try watchers.find(line) { pairs.add($0) }
            pairs.finish(change: index)
        }
        return pairs
    }

    /// Two workloads. `digests` has the SHA-256 of the subscriptions, of the changes and of the pairs. `watched` is the
    /// number of watched changes, and `pairs` the number of pairs. The same workload, made by a program in another
    /// language, has the same digests.
    private static let known: [(isDense: Bool, digests: [String], watched: Int, pairs: Int)] = [
        (
            false,
            [
                "bf2f39a63c148922ad42ed38831a18ba010febf2286dbeef973b231642413db6",
                "59ae1d1918b6a44db5492c2a8fbcd62068947791eeb2f6d32a4698bf1bec9c54",
                "f6b9e528e509b31a28ffdaf902df1cc9df757f3b3d4e84a7c553f441af0b48f7",
            ], 202, 291
        ),
        (
            true,
            [
                "c8ac8745496da690055c1a0d36a2c5784de08179c22c84b53907005d4a5efdb1",
                "2c4024917268ec6560311260095f69ea8c952f89cc86ac4bf9e0ffc4704fb89f",
                "37bd29b1cd62a1d5729256c462e8e996ae629241705d34e4e1029e5a41e0fd24",
            ], 684, 9856
        ),
    ]

    @Test(arguments: known)
    func `2,000 subscriptions and 1,000 changes have the known bytes and pairs`(
        isDense: Bool, digests: [String], watched: Int, count: Int
    ) throws {
        let inputs = Self.inputs(1, 2000, 1000, isDense: isDense)
        #expect([inputs.subscriptions, inputs.changes].map(Self.digest) == Array(digests.prefix(2)))
        let pairs = try Self.pairs(inputs.subscriptions, inputs.changes)
        #expect((pairs.watched, pairs.pairs) == (watched, count))
        #expect(pairs.digest == digests[2])
    }

    /// The last seed is the seed of this run. The full check also has seeds that are the same in every run.
    @Test(arguments: Seeded.seeds)
    func `for any seed, the match stage and the oracle find the same pairs`(seed: UInt64) throws {
        var draw = Seeded(seed)
        let isDense = draw.isOneIn(2)
        let (subscriptions, changes) = Self.inputs(
            draw.next(), 200 + draw.below(600), 100 + draw.below(300), isDense: isDense)
        let pairs = try Self.pairs(subscriptions, changes)
        let found = String(decoding: pairs.text, as: UTF8.self).split(separator: "\n").map(String.init)
        #expect(try found == MatchOracle(subscriptions, changes).pairs, "seed \(seed)")
        #expect(pairs.pairs > 10, "seed \(seed)")
    }
}
