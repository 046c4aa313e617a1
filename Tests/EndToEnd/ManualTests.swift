import Foundation
import TestSupport
import Testing

/// Checks the README and the pages of the manual: their commands, JSON, links, and names of folders and files.
@Suite struct ManualTests {
    @Test(arguments: try ManualPage.all().filter { $0.isRunnable && $0.isInSubfolder })
    func `each command in a page of a subfolder prints what the page shows`(page: ManualPage) async throws {
        try await Reader.follow(page)
    }

    @Test(arguments: try ManualPage.all().filter { $0.isRunnable && !$0.isInSubfolder })
    func `each command in the README and the other pages prints what the page shows`(page: ManualPage) async throws {
        try await Reader.follow(page)
    }

    @Test(arguments: try ManualPage.all())
    func `each JSON block in a page, except a file to save, is JSON or lines of JSON`(page: ManualPage) {
        for case .other(language: "json", let text) in page.blocks where !isJSON(text) {
            for line in text.split(separator: "\n") {
                #expect(isJSON(String(line)), "\(page.path): \(line)")
            }
        }
    }

    private func isJSON(_ text: String) -> Bool {
        do {
            _ = try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
            return true
        } catch { return false }
    }

    @Test(arguments: try ManualPage.all())
    func `each link has a target, except links to the web`(page: ManualPage) throws {
        let folder = ManualPage.root.appending(path: page.path).deletingLastPathComponent()
        for link in page.links {
            let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let target =
                parts[0].isEmpty ? ManualPage.root.appending(path: page.path) : folder.appending(path: parts[0])
            guard FileManager.default.fileExists(atPath: target.path) else {
                Issue.record("\(page.path) links to \(link)")
                continue
            }
            guard parts.count == 2 else { continue }
            let path = String(target.standardizedFileURL.path.dropFirst(ManualPage.root.path.count + 1))
            #expect(try ManualPage(path).anchors.contains(parts[1]), "\(page.path) links to \(link)")
        }
    }

    @Test func `the tree in Contributing shows every folder directly in Sources`() throws {
        let page = try ManualPage("Sources/BelfryTool/Belfry.docc/Contributing.md")
        let tree = page.blocks.compactMap { block -> String? in
            guard case .other(_, let text) = block, text.hasPrefix("Sources/\n") else { return nil }
            return text
        }
        let shown = Set(tree.joined().matches(of: /([A-Za-z0-9]+)\//).map { String($0.1) })
        let folders = try FileManager.default.contentsOfDirectory(
            atPath: ManualPage.root.appending(path: "Sources").path)
        #expect(Set(folders).subtracting(shown) == [])
    }

    @Test(arguments: try ManualPage.all())
    func `each source file named in a page exists`(page: ManualPage) throws {
        let names = page.prose.joined(separator: "\n").matches(of: /`(?:Sources\/)?([A-Z][A-Za-z]+\/[^` ]+\.swift)`/)
        for name in Set(names.map { String($0.1) }) {
            let file = ManualPage.root.appending(path: "Sources/" + name).path
            #expect(FileManager.default.fileExists(atPath: file), "\(page.path) names \(name)")
        }
    }
}

/// A reader who follows a page in a terminal, in a folder that contains only `Pipelines`.
private final class Reader {
    private let folder: Folder
    private var services: [Program] = []

    static func follow(_ page: ManualPage) async throws {
        let reader = try Reader()
        for block in page.blocks {
            switch block {
            case .file(let name, let text): try reader.save(text, as: name)
            case .console(let commands): for command in commands { try await reader.run(command) }
            case .other: break
            }
        }
        await reader.stopServices()
    }

    init() throws {
        folder = try Folder()
        let pipelines = ManualPage.root.appending(path: "Pipelines")
        try FileManager.default.copyItem(at: pipelines, to: URL(fileURLWithPath: folder.file("Pipelines")))
    }

    func save(_ text: String, as name: String) throws {
        let folders = URL(fileURLWithPath: folder.file(name)).deletingLastPathComponent()
        try FileManager.default.createDirectory(at: folders, withIntermediateDirectories: true)
        try folder.write(text, to: name)
    }

    func run(_ command: ManualPage.Command) async throws {
        let program = try Program(
            "/bin/sh", ["-c", "export PATH='\(Program.folder())':$PATH; exec 2>&1; " + command.shellText],
            in: folder.path, onTerminal: true)
        guard !command.isService else {
            services.append(program)
            for line in command.output where line != "…" {
                let fixed = line.split(separator: "…").max { $0.count < $1.count } ?? ""
                #expect(await program.waitForOutputLine(String(fixed)) != nil, "\(command.line): no line \(line)")
            }
            return
        }
        try program.endInput()
        let lines = screen(await program.result().output)
        #expect(command.outputMatches(lines), "$ \(command.line)\n\(lines.joined(separator: "\n"))")
    }

    /// The lines that a terminal finally shows, without colours, trailing spaces and empty lines at the end.
    private func screen(_ output: String) -> [String] {
        let plain = output.replacing(/\u{1B}\[[0-9;]*[a-zA-Z]/, with: "").replacing("\r\n", with: "\n")
        let lines = plain.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            var last = line.split(separator: "\r").last ?? ""
            while last.last == " " { last.removeLast() }
            return String(last)
        }
        return Array(lines.reversed().drop(while: \.isEmpty).reversed())
    }

    func stopServices() async {
        for service in services {
            service.signal(SIGTERM)
            _ = await service.result()
        }
    }
}

extension ManualPage.Command {
    /// With `exec`, signals go to the service and not to a shell.
    fileprivate var shellText: String { isService ? "exec " + line.dropLast(2) : line }

    /// Whether the lines match the output on the page. On the page, a line `…` stands for any number of lines, and
    /// `…` in a line for any text.
    func outputMatches(_ lines: [String]) -> Bool {
        Self.matches(lines, Array(output.reversed().drop(while: \.isEmpty).reversed()))
    }

    private static func matches(_ lines: [String], _ expected: [String]) -> Bool {
        // For each count in this set, the patterns so far can match the first `count` lines. The set may have several
        // counts, because `…` matches any number of lines.
        var reached = Set([0])
        for pattern in expected {
            if pattern == "…" {
                reached = Set((reached.min() ?? lines.count + 1)..<(lines.count + 1))
            } else {
                reached = Set(reached.filter { $0 < lines.count && matches(lines[$0], pattern) }.map { $0 + 1 })
            }
            if reached.isEmpty { return false }
        }
        return reached.contains(lines.count)
    }

    private static func matches(_ line: String, _ pattern: String) -> Bool {
        let parts = pattern.split(separator: "…", omittingEmptySubsequences: false).map(String.init)
        guard parts.count > 1 else { return line == pattern }
        guard line.hasPrefix(parts[0]) else { return false }
        var rest = line.dropFirst(parts[0].count)
        for part in parts.dropFirst().dropLast() where !part.isEmpty {
            guard let place = rest.range(of: part) else { return false }
            rest = rest[place.upperBound...]
        }
        return rest.hasSuffix(parts[parts.count - 1])
    }
}
