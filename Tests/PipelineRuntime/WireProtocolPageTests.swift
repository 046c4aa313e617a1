import EventLog
import Foundation
import JSON
import PipelineRuntime
import Testing

/// The manual's pages on the wire protocol agree with the code.
@Suite struct WireProtocolPageTests {
    private static let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "../..")
    private static let runtime = package.appending(path: "Sources/PipelineRuntime")

    private let pages: String

    init() throws {
        let folder = Self.package.appending(path: "Sources/BelfryTool/Belfry.docc/Extending")
        pages = try ["WireProtocol.md", "WireProtocolPlugins.md"].map {
            try String(contentsOf: folder.appending(path: $0), encoding: .utf8)
        }.joined()
    }

    @Test func `the wire protocol pages list every error code and no other`() throws {
        var codes: Set<String> = []
        let files = try #require(FileManager.default.enumerator(at: Self.runtime, includingPropertiesForKeys: nil))
        for case let file as URL in files where file.pathExtension == "swift" {
            let text = try String(contentsOf: file, encoding: .utf8)
            for code in text.matches(of: /"((?:door|link)\.[a-z_]+)"/) { codes.insert(String(code.1)) }
        }
        // Belfry's clients use these two codes when the other side gives no code.
        codes.subtract(["door.error", "link.error"])
        #expect(Set(pages.matches(of: /`((?:door|link)\.[a-z_]+)`/).map { String($0.1) }) == codes)
    }

    @Test(arguments: ["Link/LinkFrame.swift", "Door/Admission.swift", "Host/Health/HostHealth.swift"])
    func `the wire protocol pages name each member, and show each type of frame, that a source file writes`(
        file: String
    ) throws {
        let text = try String(contentsOf: Self.runtime.appending(path: file), encoding: .utf8)
        for member in text.matches(of: /append\((?:member: )?"([A-Za-z]+)"/) {
            let isNamed = pages.contains("`\(member.1)`") || pages.contains("`\"\(member.1)\":")
            #expect(isNamed, "the pages do not name \(member.1)")
        }
        for type in text.matches(of: /frame\("([a-z]+)"\)/) {
            #expect(pages.contains("{\"type\":\"\(type.1)\""), "the pages have no example of \(type.1)")
        }
    }

    @Test func `the wire protocol pages have the code's limits of bytes, depth, credit and silence`() {
        let limits = [
            DoorLimits.lineBytesMax, DoorLimits.modifyBytesMax, JSONLimits().depthMax, LinkServer.creditMin,
            EventLogLimits.eventBytesMax,
            EventLogLimits.batchBytesMax,
        ]
        for limit in limits { #expect(pages.contains(limit.formatted(.number.locale(Locale(identifier: "en_US"))))) }
        #expect(pages.contains("for \(LinkServer.silenceMax.components.seconds) seconds, and does not tell it"))
    }
}
