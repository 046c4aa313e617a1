import Foundation
import Testing

/// Public declarations are for authors of plugins and apps, so each has a doc comment, unless it only implements a
/// requirement of a protocol.
@Suite struct PublicSurface {
    private static let sources = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().appending(path: "Sources")
    /// The library products, and the modules whose types the products' public declarations use.
    private static let modules = [
        "BelfryClient", "BelfryTestKit", "EventLog", "Events", "JSON", "PipelineKit", "PipelineTestKit", "Time",
    ]

    @Test(arguments: modules) func `every public declaration has a doc comment or implements a requirement`(
        module: String
    ) throws {
        let files = try Self.files(of: module)
        #expect(files.contains { $0.text.contains("public ") })
        for (file, text) in files {
            let requirements = Self.requirements(in: text)
            for declaration in Self.undocumented(in: text)
            where !Self.implementsRequirement(declaration, of: requirements) {
                Issue.record("\(file): \(declaration)")
            }
        }
    }

    @Test func `modules outside the public surface have no public declarations`() throws {
        for module in try FileManager.default.contentsOfDirectory(atPath: Self.sources.path)
        where !Self.modules.contains(module) {
            for (file, text) in try Self.files(of: module) {
                let declarations = text.split(separator: "\n").filter(Self.isPublic)
                // ArgumentParser's `init?(argument:)` must be public for a public type.
                #expect(declarations.allSatisfy { $0.contains("init?(argument:") }, "\(file)")
            }
        }
    }

    private static func files(of module: String) throws -> [(file: String, text: String)] {
        let folder = sources.appending(path: module)
        return try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".swift") }
            .map { ($0, try String(contentsOf: folder.appending(path: $0), encoding: .utf8)) }
    }

    private static func isPublic(_ line: Substring) -> Bool {
        ["public ", "open "].contains { line.contains($0) } && line.contains(/^ *(@\w+ )*(public|open) (?!import)[a-z]/)
    }

    /// The public declarations without a doc comment. Attributes and `//` comments may be between the doc
    /// comment and the declaration.
    private static func undocumented(in text: String) -> [Substring] {
        let between = /(?m)^ *(\/\/[^\/].*|@\w+(\([\w ]+\))?|@available\((?s:.*?)"\n? *\))\n/
        let lines = text.replacing(between, with: "").split(separator: "\n")
        return zip([""] + lines, lines).filter { isPublic($1) && !$0.contains("///") }.map(\.1)
    }

    /// The names that the protocols of a file require. A requirement has a doc comment, so its default implementation
    /// in the same file needs none.
    private static func requirements(in text: String) -> Set<Substring> {
        let bodies = text.matches(of: /public protocol (?s:.*?)\n}/)
        return Set(bodies.flatMap { $0.output.matches(of: /(?:func|var) (\w+)/).map(\.1) })
    }

    /// Whether the declaration implements a requirement of a protocol in its file or of a well-known protocol. It then
    /// needs no doc comment.
    private static func implementsRequirement(_ declaration: Substring, of requirements: Set<Substring>) -> Bool {
        let function = /func (==|<|hash|encode|copy|isEqual|next)[( ]|init\??\((from|coder|rawValue|_ description)\b/
        let variable = /var (hash|description|supportsSecureCoding|underestimatedCount|_cVarArgEncoding):/
        if declaration.contains(function) || declaration.contains(variable) { return true }
        return declaration.firstMatch(of: /(?:func|var) (\w+)/).map { requirements.contains($0.1) } ?? false
    }
}
