import EventLog
import Testing

@testable import PipelineRuntime

@Suite struct ProducerPositionsTests {
    private static let owner = ProducerOwner(secret: "a secret of a test")
    private static let other = ProducerOwner(client: "shop")

    private static func at(
        _ through: UInt64, of owner: ProducerOwner = owner, sum: UInt32 = 0, refused: UInt64? = 0
    ) -> ProducerPositions.Position {
        .init(owner: owner, through: through, checksum: LineChecksum(sum), refused: refused)
    }

    /// The positions read from a log's cursor.
    private static func read(_ fill: (inout ProducerPositions) -> Void) -> ProducerPositions {
        var positions = ProducerPositions(Cursor())
        fill(&positions)
        return ProducerPositions(positions.changes)
    }

    @Test(arguments: [UInt32.min, 1, .max], [nil, 0, 7] as [UInt64?])
    func `a log's cursor keeps the position, owner, checksum and number of refused lines of each name`(
        sum: UInt32, refused: UInt64?
    ) {
        let positions = Self.read {
            $0.advance("a b", to: Self.at(7, sum: sum, refused: refused))
            $0.advance("at sum", to: Self.at(3, of: Self.other))
        }
        #expect(positions["a b"] == Self.at(7, sum: sum, refused: refused))
        #expect(positions["at sum"] == Self.at(3, of: Self.other))
        #expect(positions["c"] == nil)
        #expect(!positions.hasChanged)
    }

    @Test func `a name from an earlier version continues at its position and belongs to its next producer`() {
        var log = Cursor(["send host 7": 2, "a": 7])
        var positions = ProducerPositions(log)
        #expect(positions["a"] == .init(owner: nil, through: 7))
        positions.advance("a", to: .init(owner: Self.owner, through: 9))
        log.fold(positions.changes)
        #expect(log.positions["a"] == nil)
        #expect(ProducerPositions(log)["a"] == .init(owner: Self.owner, through: 9))
        #expect(ProducerPositions(log)["send host 7"] == .init(owner: nil, through: 2))
    }

    @Test func `to make room, names from an earlier version are forgotten: passing names before lasting names`() {
        var log = Cursor(["lasting": 1])
        for number in 1..<4_096 { log.positions["send host \(number)"] = 1 }
        var positions = ProducerPositions(log)
        positions.advance("new", to: Self.at(1))
        log.fold(positions.changes)
        #expect(log.positions.count == ProducerPositions.acceptedMax + 1)
        #expect(ProducerPositions(log)["lasting"]?.through == 1)
    }

    @Test func `a producer's position never goes back`() {
        var positions = Self.read { $0.advance("a", to: Self.at(7)) }
        positions.advance("a", to: Self.at(5))
        #expect(positions["a"] == Self.at(7))
        #expect(!positions.hasChanged)
    }

    /// A table with the maximum number of lasting names, and its log's cursor.
    private static func full() -> (positions: ProducerPositions, log: Cursor) {
        var positions = ProducerPositions(Cursor())
        for number in 1...ProducerPositions.lastingMax { positions.advance("p\(number)", to: at(1)) }
        let log = positions.changes
        positions.clearChanges()
        return (positions, log)
    }

    @Test func `names without an accepted line never displace names with accepted lines, also after a restart`() {
        var positions = ProducerPositions(Cursor())
        var log = Cursor()
        positions.advance("orders", to: Self.at(3, refused: 2))
        positions.advance("~passing", to: Self.at(1))
        for number in 0..<2 * ProducerPositions.namesMax {
            if number % 700 == 0 {
                log.fold(positions.changes)
                positions = ProducerPositions(log)
            }
            positions.advance("x\(number)", to: Self.at(2, of: Self.other, refused: 2))
        }
        log.fold(positions.changes)
        for positions in [positions, ProducerPositions(log)] {
            #expect(positions["orders"] == Self.at(3, refused: 2))
            #expect(positions["~passing"] == Self.at(1))
        }
        #expect(log.positions.count == 2 * ProducerPositions.namesMax)
    }

    @Test func `a lasting name with accepted lines is never forgotten, and a new one beyond the limit is refused`() {
        for positions in [Self.full().positions, ProducerPositions(Self.full().log)] {
            #expect(!positions.hasRoom(for: "new"))
            #expect(positions.hasRoom(for: "p1") && positions.hasRoom(for: "~passing"))
            var positions = positions
            for number in 1...100 { positions.advance("~\(number)", to: Self.at(1)) }
            for number in 1...ProducerPositions.lastingMax { #expect(positions["p\(number)"] != nil) }
            #expect(positions["~1"] == nil && positions["~100"] != nil)
        }
    }

    @Test func `a name without an accepted line has room until the lasting names reach their maximum`() {
        var positions = ProducerPositions(Cursor())
        positions.advance("x", to: Self.at(1, refused: 1))
        #expect(positions.hasRoom(for: "x"))
        for number in 1...ProducerPositions.lastingMax { positions.advance("p\(number)", to: Self.at(1)) }
        #expect(positions["x"] != nil && !positions.hasRoom(for: "x"))
    }

    @Test func `the passing name with the longest silence is forgotten, also in the log's cursor`() {
        var positions = ProducerPositions(Cursor())
        var log = Cursor()
        positions.advance("lasting", to: Self.at(1))
        for number in 1...(ProducerPositions.acceptedMax + 10) {
            positions.advance("~\(number)", to: Self.at(1))
            if number > 1 { positions.advance("~1", to: Self.at(UInt64(number))) }
            log.fold(positions.changes)
            positions.clearChanges()
        }
        #expect(log.positions.count == 2 * ProducerPositions.acceptedMax)
        for positions in [positions, ProducerPositions(log)] {
            #expect(positions["lasting"] == Self.at(1))
            #expect(positions["~1"]?.through ?? 0 > 1)
            #expect(positions["~2"] == nil)
        }
    }

    @Test func `the maximum number of names of the maximum length fits in a cursor`() {
        let name = 200
        let entry = "sum ".utf8.count + 32 + 1 + name
        #expect(entry <= EventLogLimits.cursorNameBytesMax)
        #expect(2 * ProducerPositions.namesMax * (entry + 10) <= EventLogLimits.cursorBytesMax)
    }

    @Test func `an owner is a hash, and a client and a secret with the same text are different owners`() {
        #expect(ProducerOwner(secret: "shop") != ProducerOwner(client: "shop"))
        #expect(ProducerOwner(client: "shop").text.utf8.count == 32)
        #expect(!ProducerOwner(secret: "a secret of a test").text.contains("secret"))
    }

    @Test
    func `a new name belongs to the client with the producer's CURVE key, or to the secret if the key is a stage's`() {
        let (shop, stage) = (ProducerOwner(client: "shop"), ProducerOwner(client: "stage ingest"))
        let secret = ProducerOwner(secret: "a secret of a test")
        #expect(ProducerOwner.owners(client: "shop", secret: "a secret of a test") == [shop, secret])
        #expect(ProducerOwner.owners(client: "stage ingest", secret: "a secret of a test") == [secret, stage])
        #expect(ProducerOwner.owners(client: "shop", secret: nil) == [shop])
        #expect(ProducerOwner.owners(client: nil, secret: nil).isEmpty)
    }

    @Test func `a checksum covers the lines with their line feeds, also if they are added one by one`() {
        var (one, other) = (LineChecksum(), LineChecksum())
        Array("first\nsecond\n".utf8).withUnsafeBytes { one.add($0) }
        for line in ["first", "second"] { Array(line.utf8).withUnsafeBytes { other.add(line: $0) } }
        #expect(one == other)
        #expect(one != LineChecksum())
    }
}
