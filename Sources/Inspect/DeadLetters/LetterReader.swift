import Events
import JSON
import PipelineKit

/// Reads what did not get through out of a pipeline's logs: stage by stage, and each log in its order.
struct LetterReader {
    let logs: RecordedLogs
    /// So many are taken, the oldest; there are more only where something is very wrong.
    var lettersMax = 1_000_000

    struct Letters {
        var letters: [Letter] = []
        /// Whether there are more than were taken.
        var isCut = false
    }

    /// - Parameters:
    ///   - isWanted: Asked of each, as far as its own event tells.
    ///   - progress: Told of the bytes that were read.
    func read(where isWanted: (Letter) throws -> Bool, _ progress: (UInt64) -> Void) throws -> Letters {
        var found = Letters()
        for stage in logs.file.stagesInOrder {
            let letters = logs.log(of: stage) + LogPlace.deadLetters
            if LogPlace.isLog(letters) {
                try read(letters, into: &found, progress, isWanted) { refused($0, stage, letters) }
            }
            if stage.writes == .outcomes, let log = logs.existingLog(of: stage) {
                let upstream = logs.file.upstream(of: stage)?.logName ?? LogKind.pushes.rawValue
                try read(log, into: &found, progress, isWanted) { undelivered($0, stage, log, upstream) }
            }
        }
        return found
    }

    private var source: String { logs.path.first?.logName ?? LogKind.changes.rawValue }

    private func read(
        _ log: String, into found: inout Letters, _ progress: (UInt64) -> Void, _ isWanted: (Letter) throws -> Bool,
        _ letter: (LogScan.Event) -> Letter?
    ) throws {
        _ = try LogScan.events(in: log, from: .epoch) { event in
            progress(UInt64(event.line.count))
            guard !found.isCut, let letter = letter(event), try isWanted(letter) else { return }
            if found.letters.count < lettersMax { found.letters.append(letter) } else { found.isCut = true }
        } isEnough: { _ in
            found.isCut
        }
    }

    /// A push's outcome, where it is one of those that count.
    private func undelivered(
        _ event: LogScan.Event, _ stage: PipelineStage, _ log: String, _ upstream: String
    ) -> Letter? {
        let json = event.json
        guard json[.type]?.equals(EventName.outcome) ?? false,
            let code = json[.outcome]?.string.flatMap(OutcomeCode.init(rawValue:)), code.isDeadLetter
        else { return nil }
        return Letter(
            place: EventPlace(log: LogPlace.name(ofLogAt: log), sequence: event.sequence), time: event.now,
            stage: stage.name, code: code.rawValue, reason: json[.reason]?.string ?? "",
            status: json[.status]?.int64,
            subject: EventPlace(log: upstream, sequence: json[.push]?.sequence ?? 0),
            change: json.causes.max(),
            content: .push(nil), user: json[.user]?.exact, device: json[.device]?.exact,
            transport: json[.transport]?.string)
    }

    private func refused(_ event: LogScan.Event, _ stage: PipelineStage, _ log: String) -> Letter? {
        let json = event.json
        guard json[.type]?.equals(EventName.deadLetter) ?? false else { return nil }
        var letter = Letter(
            place: EventPlace(log: LogPlace.name(ofLogAt: log), sequence: event.sequence), time: event.now,
            stage: stage.name, code: json[.code]?.string ?? "no code", reason: json[.reason]?.string ?? "",
            subject: EventPlace(json)
                ?? EventPlace(log: json[.log]?.string ?? "?", sequence: 0),
            content: .event(PastEvent(type: "not JSON", thing: nil, fingerprint: 0)))
        if letter.subject.log == source, letter.subject.sequence > 0 { letter.change = letter.subject.sequence }
        if let text = json[.event] { RefusedEvent.read(text, into: &letter) }
        return letter
    }

}

/// The event in a dead letter: a text, which may hold anything.
enum RefusedEvent {
    static func read(_ text: JSONValue, into letter: inout Letter) {
        _ = withEvent(text) { event in
            letter.content = .event(
                PastEvent(
                    type: event[.type]?.string ?? "no type", thing: CommandSubject(event),
                    fingerprint: CommandSubject.fingerprint(event)))
            letter.container = event[.container]?.exact
            letter.environment = event[.environment]?.exact
            letter.user = (event[.user] ?? event[.owner])?.exact
            letter.device = event[.device]?.exact
            letter.transport = event[.transport]?.string
            letter.topic = event[.topic]?.exact
            letter.change = event[.change]?.sequence ?? event.causes.max() ?? letter.change
        }
    }

    /// Nil where the text is no JSON object.
    static func withEvent<Result>(_ text: JSONValue, _ body: (JSONValue) -> Result) -> Result? {
        text.withUTF8 { bytes in
            var parser = JSONParser(limits: LogScan.limits)
            do throws(JSONError) {
                let event = try parser.parse(bytes)
                return event.isObject ? body(event) : nil
            } catch { return nil }
        } ?? nil
    }
}
