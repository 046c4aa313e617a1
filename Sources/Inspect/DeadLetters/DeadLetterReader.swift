import Events
import JSON
import PipelineKit

/// Reads the dead letters from a pipeline's logs, one stage after the other.
struct DeadLetterReader {
    let logs: RecordedLogs
    /// Letters beyond this number are left out.
    var lettersMax = 1_000_000

    struct Letters {
        var letters: [DeadLetter] = []
        var isCut = false
    }

    /// - Parameters:
    ///   - isWanted: Called for each letter, before the letter is completed from other logs.
    ///   - progress: Called for each event with its number of bytes.
    func read(where isWanted: (DeadLetter) throws -> Bool, _ progress: (UInt64) -> Void) throws -> Letters {
        var found = Letters()
        for stage in logs.file.stagesInOrder {
            let log = logs.log(of: stage) + LogPlace.deadLetters
            if LogPlace.isLog(log) {
                try read(log, into: &found, progress, isWanted) { rejectedEvent($0, stage, log) }
            }
            if stage.writes == .outcomes, let log = logs.existingLog(of: stage) {
                let upstream = logs.file.upstream(of: stage)?.logName ?? LogKind.pushes.rawValue
                try read(log, into: &found, progress, isWanted) { undeliveredPush($0, stage, log, upstream) }
            }
        }
        return found
    }

    private var changesLog: String { logs.stages.first?.logName ?? LogKind.changes.rawValue }

    private func read(
        _ log: String, into found: inout Letters, _ progress: (UInt64) -> Void, _ isWanted: (DeadLetter) throws -> Bool,
        _ letter: (LogScan.Event) -> DeadLetter?
    ) throws {
        _ = try LogScan.events(in: log, from: .epoch) { event in
            progress(UInt64(event.line.count))
            guard !found.isCut, let letter = letter(event), try isWanted(letter) else { return }
            if found.letters.count < lettersMax { found.letters.append(letter) } else { found.isCut = true }
        } isEnough: { _ in
            found.isCut
        }
    }

    /// Nil if the event is not an outcome, or if its code is not the code of a dead letter.
    private func undeliveredPush(
        _ event: LogScan.Event, _ stage: PipelineStage, _ log: String, _ upstream: String
    ) -> DeadLetter? {
        let json = event.json
        guard json[.type]?.equals(EventName.outcome) ?? false,
            let code = json[.outcome]?.string.flatMap(OutcomeCode.init(rawValue:)), code.isDeadLetter
        else { return nil }
        return DeadLetter(
            place: EventPlace(log: LogPlace.name(ofLogAt: log), sequence: event.sequence), time: event.now,
            stage: stage.name, code: code.rawValue, reason: json[.reason]?.string ?? "",
            status: json[.status]?.int64,
            source: EventPlace(log: upstream, sequence: json[.push]?.sequence ?? 0), change: json.causes.max(),
            content: .push(nil), user: json[.user]?.exact, device: json[.device]?.exact,
            transport: json[.transport]?.string)
    }

    /// Nil if the event is not a `dead_letter`.
    private func rejectedEvent(_ event: LogScan.Event, _ stage: PipelineStage, _ log: String) -> DeadLetter? {
        let json = event.json
        guard json[.type]?.equals(EventName.deadLetter) ?? false else { return nil }
        var letter = DeadLetter(
            place: EventPlace(log: LogPlace.name(ofLogAt: log), sequence: event.sequence), time: event.now,
            stage: stage.name, code: json[.code]?.string ?? "no code", reason: json[.reason]?.string ?? "",
            source: EventPlace(json) ?? EventPlace(log: json[.log]?.string ?? "?", sequence: 0),
            content: .event(RejectedEvent(type: "not JSON", subject: nil, fingerprint: 0)))
        if letter.source.log == changesLog, letter.source.sequence > 0 { letter.change = letter.source.sequence }
        if let text = json[.event] { RejectedEventText.read(text, into: &letter) }
        return letter
    }
}

/// Reads the rejected event in a dead letter. The event is a string that can be invalid JSON.
enum RejectedEventText {
    /// Copies the event's members into the letter. Leaves the letter unchanged if the event is not a JSON object.
    static func read(_ text: JSONValue, into letter: inout DeadLetter) {
        _ = withEvent(text) { event in
            letter.content = .event(
                RejectedEvent(
                    type: event[.type]?.string ?? "no type", subject: CommandSubject(event),
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

    /// Returns nil if the text is not a JSON object.
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
