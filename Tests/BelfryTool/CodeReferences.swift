import Events
import Foundation
import TestSupport
import Testing
import TransportAPNs

/// Compares the codes on the manual's page Reference/Codes.md with the codes in the sources.
///
/// `BELFRY_WRITE_REFERENCE=1 deploy/test --filter Reference` adds new codes to the page and removes old codes. A person
/// writes what a new code means.
@Suite struct CodeReferences {
    private static let page = ReferencePage("Codes.md")
    private static let scan = Result { try SourceCodes() }

    @Test func `Reference/Codes.md has each code of a refused command, and no other`() throws {
        try expect(.refusal, "Refused commands", atLeast: 40)
    }

    @Test func `Reference/Codes.md has each warning about a subscription, and no other`() throws {
        try expect(.warning, "Warnings about saved subscriptions", atLeast: 4)
    }

    @Test func `Reference/Codes.md has each code of a dead letter with its stages, and no other`() throws {
        try expect(.deadLetter, "Dead letters", atLeast: 20, listsStages: true)
    }

    @Test func `Reference/Codes.md has each code of doctor, and no other`() throws {
        let verdicts = APNsProbe.Verdict.allCases.map { "apns.\($0.rawValue)" }
        try expect(.finding, "Findings of doctor", atLeast: 40, verdicts)
    }

    @Test func `Reference/Codes.md has each code of the courier, and no other`() throws {
        try expect(.courier, "Answers of the courier", atLeast: 10)
    }

    /// - Parameters:
    ///   - more: Codes that are not written as strings in the sources.
    ///   - listsStages: Whether the second column of the table lists the stages.
    private func expect(
        _ kind: MessageKind, _ heading: String, atLeast: Int, _ more: [String] = [], listsStages: Bool = false
    ) throws {
        let found = try #require(try Self.scan.get().codes[kind])
        let codes = Set(found.keys).union(more).sorted()
        #expect(codes.count >= atLeast)
        let rows = codes.map { code in
            ["`\(code)`"] + (listsStages ? [found[code, default: []].sorted().joined(separator: ", ")] : [])
        }
        try Self.page.expect(rows: rows, under: heading)
    }
}

/// The codes in the sources, each with the stages that use it.
private struct SourceCodes {
    private(set) var codes: [MessageKind: [String: Set<String>]] = [:]

    init() throws {
        let root = #filePath.components(separatedBy: "/Tests/")[0] + "/Sources/"
        let types = Set(EventType.all.map(\.name.description))
        let files = try #require(FileManager.default.enumerator(atPath: root))
        for case let file as String in files where file.hasSuffix(".swift") {
            guard let kind = MessageKind(file) else { continue }
            let text = try String(contentsOfFile: root + file, encoding: .utf8)
            // A string after `path:`, `at:` or `==` is the path of a member, or a code that another file defines.
            for match in text.matches(of: /(path: |at: |== )?"([a-z]+\.[a-z0-9_]+)"/) where match.1 == nil {
                let code = String(match.2)
                guard kind == .finding || !types.contains(code) else { continue }
                codes[kind, default: [:]][code, default: []].insert(Self.stage(file))
            }
        }
    }

    /// The stage of a source file; `each` for the files of the host, which writes dead letters for each stage.
    private static func stage(_ file: String) -> String {
        let parts = file.split(separator: "/")
        return switch parts[0] {
        case "Stages": parts[1].lowercased()
        case "Transports": "deliver"
        default: "each"
        }
    }
}

/// The kind of message that contains a code.
private enum MessageKind {
    case refusal, warning, deadLetter, finding, courier

    /// - Parameter file: The path of a source file below `Sources`.
    init?(_ file: String) {
        let rules: [(kind: MessageKind, paths: [String])] = [
            (
                .finding,
                ["BelfryTool/Doctor/", "Stages/Match/MatchStage+Findings", "Stages/Deliver/DeliverStage+Findings"]
            ),
            (.warning, ["Predicates/PredicateWarning", "Stages/Ingest/SubscriptionDatabases"]),
            (.courier, ["Transports/Courier/HTTP/"]),
            (
                .refusal,
                [
                    "CloudKitModel/", "Predicates/", "Stages/Ingest/", "JSON/JSONError",
                    "PipelineRuntime/Door/VirtualTime",
                    "PipelineRuntime/Host/Loop/EventReader",
                ]
            ),
            (
                .deadLetter,
                [
                    "Stages/", "Transports/", "PipelineRuntime/Host/Loop/CrashJournal",
                    "PipelineRuntime/Host/Loop/ProgramOutputs",
                ]
            ),
        ]
        guard let kind = rules.first(where: { $0.paths.contains { file.hasPrefix($0) } })?.kind else { return nil }
        self = kind
    }
}
