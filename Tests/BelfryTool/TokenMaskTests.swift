import EventLog
import Foundation
import TestSupport
import Testing

@testable import BelfryTool

@Suite struct TokenMaskTests {
    private static func masked(_ line: String) throws -> String {
        let lines = try Array((line + "\n").utf8).withUnsafeBytes { try TokenMask.masked($0) }
        return String(decoding: lines ?? Array((line + "\n").utf8), as: UTF8.self).trimmingCharacters(in: .newlines)
    }

    /// The transport `apns` accepts tokens with an even number of hexadecimal digits. The mask of such a token has an
    /// even number of digits too, so the transport also accepts the mask.
    @Test(arguments: [
        (String(repeating: "a7", count: 32), 64), (String(repeating: "0F", count: 40), 80), ("6a0f", 32), ("6a0", 33),
        (String(repeating: "1", count: 512), 512),
    ])
    func `the mask of a hexadecimal token is hexadecimal`(token: String, count: Int) {
        let mask = TokenMask.mask(token)
        #expect(mask.count == count && mask.allSatisfy(\.isHexDigit) && mask != token)
        #expect(mask == TokenMask.mask(token) && mask == TokenMask.mask(token.uppercased()))
        #expect(mask != TokenMask.mask(String(token.dropLast()) + "e"))
    }

    @Test func `tokens that are not hexadecimal have different masks, and the masks are not hexadecimal`() {
        #expect(TokenMask.mask("device of alice").hasPrefix("masked-"))
        #expect(TokenMask.mask("x") != TokenMask.mask("y") && TokenMask.mask("x") != TokenMask.mask("X"))
    }

    @Test
    func `only tokens are masked; a malformed event in a dead letter becomes empty if it may have a token`() throws {
        let mask = TokenMask.mask("6a0f")
        let lines = [
            (
                #"{"type":"device.register","token":"6a0f","topic":"t"}"#,
                #"{"type":"device.register","token":"\#(mask)","topic":"t"}"#
            ),
            (
                #"{"type":"device.register","to\u006ben":"6a0f"}"#,
                #"{"type":"device.register","to\u006ben":"\#(mask)"}"#
            ),
            (#"{"type":"record.save","record":{"fields":{"token":{"value":"6a0f"}}}}"#, nil),
            (#"{"type":"push","payload":{"ck":{"qry":{"af":{"token":"6a0f"}}}}}"#, nil),
            (#"{"type":"match","n":1.50,"s":"\u00e4"}"#, nil),
        ]
        for (line, wanted) in lines { #expect(try Self.masked(line) == wanted ?? line) }
        let letter =
            #"{"type":"dead_letter","code":"device.token","event":"{\"type\":\"device.register\",\"token\":\"6a0f\"}"}"#
        #expect(try Self.masked(letter) == letter.replacing("6a0f", with: mask))
        let torn = #"{"type":"dead_letter","event":"{\"type\":\"device.register\",\"token\":\"6a0f"}"#
        #expect(try Self.masked(torn) == #"{"type":"dead_letter","event":""}"#)
        let escaped = #"{"type":"dead_letter","event":"{\"type\":\"device.register\",\"to\\u006ben\":\"6a0f"}"#
        #expect(try Self.masked(escaped) == #"{"type":"dead_letter","event":""}"#)
    }

    @Test func `an export says that its tokens are masked, and has no snapshots`() throws {
        let folder = try Folder()
        let writer = try EventLogWriter(
            EventLogOptions(directory: folder.path, name: "changes", segmentBytesMax: 100, sync: .never))
        for number in 0..<4 {
            let line = #"{"type":"device.register","n":\#(number),"token":"6a0f-secret"}"# + "\n"
            _ = try Array(line.utf8).withUnsafeBytes { try writer.append($0, count: 1, now: .epoch) }
        }
        try writer.trim(before: 3)
        let header = SnapshotHeader(
            stage: "match", version: 1, log: writer.identity, upstream: writer.identity, cursor: Cursor(), sequence: 4,
            now: .epoch)
        _ = try Array("6a0f-secret".utf8).withUnsafeBytes {
            try SnapshotStore(logDirectory: writer.directory).write(header, state: $0)
        }
        try writer.close()
        var lines = Data()
        let leftOut = try LogExport.run(directories: [folder.file("changes")], mask: TokenMask().forExport) {
            lines.append(contentsOf: $0)
        }
        let text = String(decoding: lines, as: UTF8.self)
        #expect(leftOut.count == 1 && !text.contains("snapshot") && !text.contains("6a0f-secret"), "\(text)")
        #expect(text.contains(#","tokens":"masked"}"#))
        try lines.write(to: URL(fileURLWithPath: folder.file("all.ndjson")))
        var notices: [String] = []
        _ = try LogImportCommand.run(folder.file("all.ndjson"), into: folder.file("new")) { notices.append($0) }
        #expect(notices.count == 1 && notices[0].hasPrefix("the device tokens are masked"), "\(notices)")
    }
}
