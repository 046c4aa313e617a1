import EventLog
import JSON
import PipelineKit

/// What a stage answers to `health`.
struct HostHealth {
    var plan: HostPlan
    var report: HostReport
    /// Nil while the log cannot be opened.
    var log: EventLogWriter?
    var consumers: [(name: String, next: UInt64, credit: Int)] = []
    var pauses: [PauseMeter.Pause] = []

    var frame: [UInt8] {
        LinkFrame.frame("health") {
            $0.field("stage", plan.stage)
            $0.field("phase", report.phase.rawValue)
            $0.field("pid", Int(ProcessFacts.pid))
            $0.field("log", plan.logName)
            if let log { $0.field("identity", log.identity.description) }
            $0.field("first", report.first)
            $0.field("last", log?.lastSequence ?? report.last)
            if let log { $0.field("now", log.lastNow.rfc3339) }
            $0.field("taken", report.taken)
            $0.field("eventsIn", report.eventsIn)
            $0.field("eventsOut", report.eventsOut)
            $0.field("deadLetters", report.deadLetters)
            $0.field("refusedFrames", report.refusedFrames)
            if report.clockBehind != .zero {
                $0.field("clockBehindSeconds", Int(report.clockBehind.components.seconds))
            }
            if let shortage = report.shortage {
                $0.field("diskFull") { HostHealth.write(shortage, to: &$0) }
            }
            $0.field("consumers") { HostHealth.write(consumers, to: &$0) }
            $0.field("pauses") { HostHealth.write(pauses, to: &$0) }
        }
    }

    private static func write(_ shortage: HostReport.Shortage, to buffer: inout ByteBuffer) {
        buffer.append("{\"file\":")
        buffer.appendJSON(shortage.file)
        buffer.append(",\"bytesNeeded\":")
        buffer.appendJSON(shortage.bytesNeeded)
        buffer.append("}")
    }

    private static func write(
        _ consumers: [(name: String, next: UInt64, credit: Int)], to buffer: inout ByteBuffer
    ) {
        buffer.append("[")
        for (index, consumer) in consumers.enumerated() {
            if index > 0 { buffer.append(",") }
            buffer.append("{\"name\":")
            buffer.appendJSON(consumer.name)
            buffer.append(",\"next\":")
            buffer.appendJSON(consumer.next)
            buffer.append(",\"credit\":")
            buffer.appendJSON(consumer.credit)
            buffer.append("}")
        }
        buffer.append("]")
    }

    private static func write(_ pauses: [PauseMeter.Pause], to buffer: inout ByteBuffer) {
        buffer.append("[")
        for (index, pause) in pauses.enumerated() {
            if index > 0 { buffer.append(",") }
            pause.write(to: &buffer)
        }
        buffer.append("]")
    }
}
