import Events
import JSON
import PipelineKit
import StageTool
import Time

/// The dead letters of one stage with the same code and, for pushes, the same status and reason.
struct DeadLetterGroup {
    let stage: String
    let code: String
    let status: Int64?
    /// Empty for rejected events: many of their reasons contain a value from the event, so grouping by reason would
    /// make many small groups. Also empty for pushes without a reason.
    let reason: String
    let letters: [RedriveCandidate]

    /// The groups of the letters, the largest group first.
    static func all(of letters: [RedriveCandidate]) -> [DeadLetterGroup] {
        Dictionary(grouping: letters) { candidate in
            let letter = candidate.letter
            let push = letter.isPush ? [letter.status.map { "\($0)" } ?? "", letter.reason] : ["", ""]
            return [letter.stage, letter.code] + push
        }.sorted { one, other in
            one.value.count == other.value.count
                ? one.key.lexicographicallyPrecedes(other.key) : one.value.count > other.value.count
        }.map { key, letters in
            DeadLetterGroup(stage: key[0], code: key[1], status: Int64(key[2]), reason: key[3], letters: letters)
        }
    }

    var redrivableCount: Int { letters.count(where: \.isRedrivable) }

    var newest: Instant { letters.map(\.letter.time).max() ?? .epoch }

    var text: String { ["\(stage): \(code)", status.map { "\($0)" }, reason].joined()?.printable ?? "" }

    var json: String {
        ByteBuffer.object {
            $0.append("stage", stage)
            $0.append("code", code)
            $0.append("status", status.map { Int($0) })
            if !reason.isEmpty { $0.append("reason", reason) }
            $0.append("letters", letters.count)
            $0.append("redrivable", redrivableCount)
            $0.append("newest", newest.rfc3339)
        }.text
    }
}

/// Prints a list of dead letters, for people or as JSON.
package struct DeadLetterListText {
    let found: DeadLetters
    let limit: Int?

    static let linesMax = 20
    private static let groupsMax = 30

    package init(found: DeadLetters, limit: Int?) { (self.found, self.limit) = (found, limit) }

    private var letters: [RedriveCandidate] { found.letters }
    private var shown: ArraySlice<RedriveCandidate> {
        letters.sorted { $0.letter.time < $1.letter.time }.suffix(limit ?? DeadLetterListText.linesMax)
    }

    /// The newest letters up to the limit, or all letters without a limit, in the order of ``DeadLetters/letters``.
    private var newest: [RedriveCandidate] {
        let byTime = letters.indices.sorted { (letters[$0].letter.time, $0) < (letters[$1].letter.time, $1) }
        return byTime.suffix(limit ?? letters.count).sorted().map { letters[$0] }
    }

    package var lines: [String] {
        guard !letters.isEmpty else { return ["no dead letters"] }
        let rest = letters.count - shown.count
        return [summary, ""] + table + (shown.isEmpty ? [] : [""]) + shown.map(\.text)
            + (rest > 0 && limit != 0 ? ["… and \(rest.grouped) older; --limit shows more"] : [])
    }

    private var redrivableCount: Int { letters.count(where: \.isRedrivable) }

    private var summary: String {
        letters.count.of("dead letter") + (found.isCut ? " (more exist but were not read)" : "")
            + ", of which \(redrivableCount.grouped) can be redriven"
    }

    private var table: [String] {
        var table = TextTable("WHAT", "LETTERS", "REDRIVABLE", "NEWEST")
        let groups = DeadLetterGroup.all(of: letters)
        for group in groups.prefix(Self.groupsMax) {
            table.add(group.text, group.letters.count.grouped, group.redrivableCount.grouped, group.newest.rfc3339)
        }
        let rest = groups.count - Self.groupsMax
        return table.lines + (rest > 0 ? ["… and \(rest.of("more group"))"] : [])
    }

    /// Writes an object for each letter in ``newest``, then the summary of all letters.
    package func json(_ write: (String) throws -> Void) throws {
        for candidate in newest { try write(candidate.json(type: "letter")) }
        let summary = ByteBuffer.object {
            $0.append("type", "summary")
            $0.append("letters", letters.count)
            $0.append("redrivable", redrivableCount)
            if found.isCut { $0.append("more", true) }
            $0.append("groups", DeadLetterGroup.all(of: letters)) { $0.append(raw: $1.json) }
        }
        try write(summary.text)
    }
}

extension RedriveCandidate {
    var text: String {
        let letter = letter
        let receiver = [letter.user?.string, letter.device?.string].joined(by: "/") ?? ""
        let what = letter.isPush ? "push to" : letter.type
        let why = [letter.status.map { "\($0)" }, letter.reason].joined().map { "  " + $0 } ?? ""
        let head = "\(letter.place)  \(letter.time.rfc3339)  \(letter.stage): \(letter.code)  \(what) \(receiver)"
        return (head + why).printable + verdictText
    }

    private var verdictText: String {
        switch verdict {
        case .redrivable: ""
        case .obsolete(let why, let by): "  (\(why.rawValue)\(by.map { " by \($0)" } ?? ""))"
        case .impossible(let reason): "  (cannot be redriven: \(reason.printable))"
        }
    }

    /// - Parameter command: The JSON of the command that redrives the letter.
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
            $0.append("of", raw: letter.source.json)
            $0.append("event", letter.type)
            $0.append("container", letter.container?.string)
            $0.append("environment", letter.environment?.string)
            $0.append(.user, letter.user?.string)
            $0.append("device", letter.device?.string)
            $0.append("transport", letter.transport)
            $0.append("topic", letter.topic?.string)
            addVerdict(to: &$0)
            $0.append("command", raw: command)
        }.text
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
