import Events
import JSON
import PipelineKit
import PipelineRuntime
import Time

/// The commands of a what-if, which replace recorded commands.
///
/// A command applies from its `time` on; without a `time`, from the beginning. It replaces all later recorded commands
/// about the same subscription or device.
final class InsertedCommands {
    private struct Command {
        var event: [UInt8]
        var time: Instant
        /// Names the subscription or device.
        var identity: [UInt8]
    }

    private var waiting: ArraySlice<Command>
    /// The identities of the commands whose time has come.
    private var inForce: Set<[UInt8]> = []
    private var parser = JSONParser(limits: EventReader.linkLimits)

    /// - Parameter lines: One command each; blank lines are skipped.
    /// - Throws: ``ReplayError/badCommand(line:_:)`` for a command that the source rejects, or that is about neither a
    ///   subscription nor a device. Also the error of a source that cannot be made.
    init(_ lines: [String], of source: RecordedStage, _ factory: MachineFactory) throws {
        let machine = try factory.machine(source.stage, context: source.context, answers: AcceptedAnswers())
        var commands: [Command] = []
        for (number, line) in lines.enumerated() where !line.allSatisfy(\.isWhitespace) {
            commands.append(try InsertedCommands.command(line, number + 1, machine))
        }
        waiting = commands.sorted { $0.time < $1.time }[...]
    }

    private static func command(_ line: String, _ number: Int, _ source: any StageMachine) throws -> Command {
        defer { source.output.removeAll() }
        let bytes = Array(line.utf8)
        try bytes.withUnsafeBytes { try source.receive($0, first: UInt64(number), at: .epoch) }
        if let refused = source.output.outbox.takeRejections().first {
            throw ReplayError.badCommand(line: number, "rejected: \(refused.rejection.reason)")
        }
        let event = Array(source.output.lines.dropLast())
        var parser = JSONParser(limits: EventReader.linkLimits)
        let time = try bytes.withUnsafeBytes { try parser.parse($0).text(.time) }.flatMap { Instant(rfc3339: $0) }
        let identity = try event.withUnsafeBytes { InsertedCommands.identity(of: try parser.parse($0)) }
        guard let identity else {
            throw ReplayError.badCommand(
                line: number, "the command is about neither a subscription nor a device; remove it")
        }
        return Command(event: event, time: time ?? .epoch, identity: identity)
    }

    /// The reason why the commands change nothing; nil if a command can change something.
    ///
    /// - Parameter last: The end of the recording; nil when the log is empty.
    func reasonForNoEffect(through last: Instant?) -> String? {
        guard let first = waiting.first else {
            return "there is no command, so nothing changes; a command is a JSON object on one line, such as "
                + "subscription.save"
        }
        guard let last, first.time > last else { return nil }
        return "every command applies from \(first.time) or later, but the recording ends at \(last), so nothing "
            + "changes; give the commands an earlier \"time\", or no \"time\" to apply them from the beginning"
    }

    /// Calls `body` for each command that is due, with the command's own time.
    func forEachDue(at now: Instant, _ body: (UnsafeRawBufferPointer, Instant) throws -> Void) rethrows {
        while let command = waiting.first, command.time <= now {
            waiting.removeFirst()
            inForce.insert(command.identity)
            try command.event.withUnsafeBytes { try body($0, command.time) }
        }
    }

    /// Whether a command whose time has come replaces this recorded event.
    func replaces(_ line: UnsafeRawBufferPointer) -> Bool {
        guard !inForce.isEmpty else { return false }
        do throws(JSONError) {
            return InsertedCommands.identity(of: try parser.parse(line)).map(inForce.contains) ?? false
        } catch { return false }
    }

    /// Nil for an event that is not about a subscription or a device.
    private static func identity(of event: JSONValue) -> [UInt8]? {
        guard let type = event.text(.type) else { return nil }
        let names: [String?]
        switch type {
        case "subscription.save":
            names = [event.text(.database), event.text(.user), event[.subscription]?.text(.subscriptionID)]
        case "subscription.delete":
            names = [event.text(.database), event.text(.user), event.text(.subscriptionID)]
        case "device.register", "device.unregister": names = ["", event.text(.user), event.text(.device)]
        default: return nil
        }
        let place = [String(type.prefix(while: { $0 != "." })), event.text(.container), event.text(.environment)]
        return (place + names).flatMap { Array(($0 ?? "").utf8) + [0] }
    }
}
