import Events
import JSON
import PipelineKit
import StageTool
import Time

/// Dead letters that have the same reason.
struct LetterGroup {
    let stage: String
    let code: String
    /// Of pushes: the other side's words. A stage's own name what they are about, so they are no group's.
    let status: Int64?
    let reason: String
    var letters = 0
    var redrivable = 0
    var newest = Instant.epoch

    /// The most frequent first.
    static func all(of letters: [JudgedLetter]) -> [LetterGroup] {
        var groups: [[String]: LetterGroup] = [:]
        for judged in letters {
            let letter = judged.letter
            let (status, reason) = letter.isPush ? (letter.status, letter.reason) : (nil, "")
            let key = [letter.stage, letter.code, status.map { "\($0)" } ?? "", reason]
            var group =
                groups[key] ?? LetterGroup(stage: letter.stage, code: letter.code, status: status, reason: reason)
            group.letters += 1
            if judged.isRedrivable { group.redrivable += 1 }
            group.newest = max(group.newest, letter.time)
            groups[key] = group
        }
        return groups.sorted { one, other in
            one.value.letters == other.value.letters
                ? one.key.lexicographicallyPrecedes(other.key) : one.value.letters > other.value.letters
        }.map(\.value)
    }

    var text: String { (["\(stage): \(code)", status.map { "\($0)" }, reason] as [String?]).words.printable }

    var json: String {
        ByteBuffer.object {
            $0.append("stage", stage)
            $0.append("code", code)
            $0.append("status", status.map { Int($0) })
            if !reason.isEmpty { $0.append("reason", reason) }
            $0.append("letters", letters)
            $0.append("redrivable", redrivable)
            $0.append("newest", newest.rfc3339)
        }.text
    }
}

extension [String?] {
    /// Those that are there and say something, as one text.
    fileprivate var words: String { compactMap { $0 }.filter { !$0.isEmpty }.joined(separator: " ") }
}

/// A list of dead letters, for people and for programs.
package struct LetterListText {
    let found: DeadLetters
    /// How many are shown, the newest.
    let limit: Int?

    /// What a person wants to scroll past.
    static let linesMax = 20
    private static let groupsMax = 30

    package init(found: DeadLetters, limit: Int?) { (self.found, self.limit) = (found, limit) }

    private var letters: [JudgedLetter] { found.letters }
    private var shown: ArraySlice<JudgedLetter> {
        letters.sorted { $0.letter.time < $1.letter.time }.suffix(limit ?? LetterListText.linesMax)
    }

    package var lines: [String] {
        guard !letters.isEmpty else { return ["no dead letters"] }
        let rest = letters.count - shown.count
        return [summary, ""] + table + (shown.isEmpty ? [] : [""]) + shown.map(\.text)
            + (rest > 0 && limit != 0 ? ["… and \(rest.grouped) older; --limit shows more"] : [])
    }

    private var summary: String {
        let redrivable = letters.reduce(0) { $0 + ($1.isRedrivable ? 1 : 0) }
        return letters.count.of("dead letter") + (found.isCut ? ", the oldest that there are" : "")
            + ", of which \(redrivable.grouped) can be redriven"
    }

    private var table: [String] {
        var table = TextTable("WHAT", "LETTERS", "REDRIVABLE", "NEWEST")
        let groups = LetterGroup.all(of: letters)
        for group in groups.prefix(Self.groupsMax) {
            table.add(group.text, group.letters.grouped, group.redrivable.grouped, group.newest.rfc3339)
        }
        let rest = groups.count - Self.groupsMax
        return table.lines + (rest > 0 ? ["… and \(rest.of("more reason"))"] : [])
    }

    /// An object for each, stage by stage, then the summary.
    package func json(_ write: (String) throws -> Void) throws {
        for judged in letters.suffix(limit ?? letters.count) { try write(judged.json(type: "letter")) }
        let summary = ByteBuffer.object {
            $0.append("type", "summary")
            $0.append("letters", letters.count)
            $0.append("redrivable", letters.reduce(0) { $0 + ($1.isRedrivable ? 1 : 0) })
            if found.isCut { $0.append("more", true) }
            $0.append("groups", LetterGroup.all(of: letters)) { $0.append(raw: $1.json) }
        }
        try write(summary.text)
    }
}

extension JudgedLetter {
    /// For people: where, when, what and why.
    var text: String {
        let letter = letter
        let whom = [letter.user, letter.device].compactMap { $0?.string }.joined(separator: "/")
        let what = letter.isPush ? "push to" : letter.type
        let why = ([letter.status.map { "\($0)" }, letter.reason] as [String?]).words
        let head = "\(letter.place)  \(letter.time.rfc3339)  \(letter.stage): \(letter.code)  \(what) \(whom)"
        return (head + (why.isEmpty ? "" : "  \(why)")).printable + verdictText
    }

    private var verdictText: String {
        switch verdict {
        case .redrivable: ""
        case .obsolete(let why, let by): "  (\(why.rawValue)\(by.map { " by \($0)" } ?? ""))"
        case .impossible(let reason): "  (cannot be redriven: \(reason.printable))"
        }
    }

    /// - Parameters:
    ///   - type: What the object says it is.
    ///   - command: What redrives it.
    func json(type: String, command: String? = nil) -> String {
        ByteBuffer.object {
            $0.append("type", type)
            $0.append("log", letter.place.log)
            $0.append("sequence", letter.place.sequence)
            $0.append("now", letter.time.rfc3339)
            $0.append("stage", letter.stage)
            $0.append("code", letter.code)
            $0.append("status", letter.status.map { Int($0) })
            $0.append("reason", letter.reason)
            $0.append("of", raw: letter.subject.json)
            $0.append("event", letter.type)
            addPlace(to: &$0)
            addVerdict(to: &$0)
            $0.append("command", raw: command)
        }.text
    }

    private func addPlace(to object: inout ByteBuffer) {
        object.append("container", letter.container?.string)
        object.append("environment", letter.environment?.string)
        object.append(.user, letter.user?.string)
        object.append("device", letter.device?.string)
        object.append("transport", letter.transport)
        object.append("topic", letter.topic?.string)
    }

    private func addVerdict(to object: inout ByteBuffer) {
        object.append("redrivable", isRedrivable)
        switch verdict {
        case .redrivable: return
        case .obsolete(let why, let by):
            object.append("obsolete", why.rawValue)
            object.append("by", raw: by?.json)
        case .impossible(let reason): object.append("impossible", reason)
        }
    }
}
