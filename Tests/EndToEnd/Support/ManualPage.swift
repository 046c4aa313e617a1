import Foundation
import Testing

/// The README or a page of the manual, as a reader uses it: files to save, commands to type, links to follow.
struct ManualPage: CustomTestStringConvertible, Sendable {
    enum Block: Sendable {
        /// A file to save. The paragraph before the block ends with the file's name in backticks and a colon, and the
        /// block's language is neither `text` nor `console`.
        case file(name: String, text: String)
        /// Commands, each with its output.
        case console([Command])
        /// Any other block, with its language.
        case other(language: String, text: String)
    }

    struct Command: Sendable {
        var line: String
        var output: [String] = []

        var isService: Bool { line.hasSuffix(" &") }
    }

    let path: String
    private(set) var blocks: [Block] = []
    /// All lines outside of blocks.
    private(set) var prose: [String] = []

    var testDescription: String { path }
    /// Whether the page is in a subfolder of the catalogue, such as Debugger.
    var isInSubfolder: Bool { path.dropFirst(Self.catalogue.count + 1).contains("/") }
    var isRunnable: Bool { blocks.contains { if case .console = $0 { true } else { false } } }

    static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    private static let catalogue = "Sources/BelfryTool/Belfry.docc"

    static func all() throws -> [ManualPage] {
        let files = FileManager.default.enumerator(atPath: root.appending(path: catalogue).path)
        let pages = (files?.allObjects ?? []).compactMap { $0 as? String }.filter { $0.hasSuffix(".md") }
        return try ["README.md"].map(ManualPage.init) + pages.sorted().map { try ManualPage(catalogue + "/" + $0) }
    }

    init(_ path: String) throws {
        self.path = path
        let text = try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
        var open: (language: String, lines: [String])?
        for line in text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) {
            if let block = open {
                if line == "```" { closeBlock(block.language, block.lines) }
                open = line == "```" ? nil : (block.language, block.lines + [line])
            } else if line.hasPrefix("```") {
                open = (String(line.dropFirst(3)), [])
            } else {
                prose.append(line)
            }
        }
    }

    private mutating func closeBlock(_ language: String, _ lines: [String]) {
        let before = prose.last { !$0.isEmpty } ?? ""
        if language == "console" {
            blocks.append(.console(Self.commands(lines)))
        } else if let name = before.firstMatch(of: /`([^` ]+)`:$/)?.1, language != "text" {
            blocks.append(.file(name: String(name), text: lines.joined(separator: "\n") + "\n"))
        } else {
            blocks.append(.other(language: language, text: lines.joined(separator: "\n")))
        }
    }

    static func commands(_ lines: [String]) -> [Command] {
        lines.reduce(into: []) { commands, line in
            if line.hasPrefix("$ ") {
                commands.append(Command(line: String(line.dropFirst(2))))
            } else if !commands.isEmpty {
                commands[commands.count - 1].output.append(line)
            }
        }
    }

    /// The targets of the page's links, except web and mail addresses.
    var links: [String] {
        prose.filter { !$0.hasPrefix("    ") }.flatMap { line in
            line.replacing(/`[^`]*`/, with: "").matches(of: /\]\(([^)]+)\)/).map { String($0.1) }
        }.filter { !$0.contains("://") && !$0.hasPrefix("mailto:") }
    }

    /// The anchors of the page's headings, as GitHub forms them.
    var anchors: Set<String> {
        Set(
            prose.filter { $0.hasPrefix("#") }.map { heading in
                let words = heading.drop { $0 == "#" || $0 == " " }.lowercased()
                return words.filter { $0.isLetter || $0.isNumber || $0 == " " || $0 == "-" || $0 == "_" }
                    .replacing(" ", with: "-")
            })
    }
}
