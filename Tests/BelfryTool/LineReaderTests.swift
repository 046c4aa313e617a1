import Glibc
import Testing

@testable import BelfryTool

struct LineReaderTests {
    private struct SourceLine: Equatable, CustomStringConvertible {
        var source: String
        var line: UInt64
        var text: String
        var description: String { "\(source):\(line): \(text)" }
    }

    private func lines(_ paths: [String]) throws -> [SourceLine] {
        let reader = LineReader(paths.map(InputSource.init(path:)))
        var seen: [SourceLine] = []
        while !reader.isAtEnd {
            guard let block = try reader.next() else { continue }
            for (index, text) in block.bytes.split(separator: 0x0A).enumerated() {
                let name = block.source.split(separator: "/").last.map(String.init) ?? ""
                seen.append(
                    SourceLine(
                        source: name, line: block.firstLine + UInt64(index), text: String(decoding: text, as: UTF8.self)
                    ))
            }
        }
        return seen
    }

    @Test func `lines keep their file name and line number across files and blank lines`() throws {
        let folder = try TemporaryFolder()
        let one = try folder.file("one", "a\n\n  \nb\n")
        let two = try folder.file("two", "\nc")
        #expect(
            try lines([one, two]) == [
                SourceLine(source: "one", line: 1, text: "a"), SourceLine(source: "one", line: 4, text: "b"),
                SourceLine(source: "two", line: 2, text: "c"),
            ])
    }

    @Test func `every line is read once, even if reads split it`() throws {
        let folder = try TemporaryFolder()
        let expected = (1...5_000).map {
            SourceLine(source: "many", line: UInt64($0), text: "\($0)-" + String(repeating: "x", count: $0 % 97))
        }
        let file = try folder.file("many", expected.map { $0.text + "\n" }.joined())
        #expect(try lines([file]) == expected)
    }

    @Test func `a line that is too long is reported with its length and not kept`() throws {
        let folder = try TemporaryFolder()
        let long = [UInt8](repeating: 0x78, count: LineReader.lineBytesMax + 1)
        let reader = LineReader([InputSource(path: try folder.file("long", [0x61, 0x0A] + long + [0x0A, 0x62]))])
        var blocks: [LineReader.Block] = []
        while !reader.isAtEnd { if let block = try reader.next() { blocks.append(block) } }
        #expect(blocks.map(\.firstLine) == [1, 2, 3])
        #expect(blocks.map(\.tooLong) == [nil, long.count, nil])
        #expect(blocks[1].bytes.isEmpty)
    }

    @Test func `no block has more lines than the limit, and no line is lost`() throws {
        let folder = try TemporaryFolder()
        let reader = LineReader([InputSource(path: try folder.file("short", String(repeating: "1\n", count: 4_321)))])
        var counts: [Int] = []
        while !reader.isAtEnd { if let block = try reader.next() { counts.append(block.count) } }
        #expect(counts.reduce(0, +) == 4_321)
        #expect(counts.allSatisfy { $0 <= LineReader.blockLinesMax })
    }

    @Test func `a missing file is an error, and so is a folder in its place`() throws {
        let folder = try TemporaryFolder()
        let missing = #expect(throws: ToolFailure.self) {
            try InputSource.check([InputSource(path: folder.path + "/no")])
        }
        #expect(missing?.status == .noInput)
        #expect(missing?.message.contains("/no: no such file") == true)
        let directory = #expect(throws: ToolFailure.self) { try InputSource.check([InputSource(path: folder.path)]) }
        #expect(directory?.status == .noInput)
        #expect(directory?.message.contains("it is a directory") == true)
    }
}
