import EventLog
import Glibc
import JSON
import PipelineKit

/// A stage's answer to `health`.
struct HostHealth {
    var plan: HostPlan
    var report: HostReport
    /// The stage's log; nil before it is open.
    var log: EventLogWriter?
    var consumers: [(name: String, next: UInt64, credit: Int)] = []
    var pauses: [PauseMeter.Pause] = []

    var frame: [UInt8] {
        LinkFrame.frame("health") {
            $0.append("stage", plan.stage)
            $0.append("phase", report.phase.rawValue)
            $0.append("pid", Int(getpid()))
            $0.append("log", plan.logName)
            $0.append("identity", log?.identity.description)
            $0.append("first", report.first)
            $0.append("last", log?.lastSequence ?? report.last)
            $0.append("now", log?.lastNow.rfc3339)
            $0.append("taken", report.taken)
            $0.append("eventsIn", report.eventsIn)
            $0.append("eventsOut", report.eventsOut)
            $0.append("deadLetters", report.deadLetters)
            $0.append("refusedFrames", report.refusedFrames)
            if report.clockBehind != .zero {
                $0.append("clockBehindSeconds", Int(report.clockBehind.components.seconds))
            }
            if let shortage = report.shortage {
                $0.append(member: "diskFull")
                $0.object {
                    $0.append("file", shortage.file)
                    $0.append("bytesNeeded", shortage.bytesNeeded)
                }
            }
            $0.append("consumers", consumers) { buffer, consumer in
                buffer.object {
                    $0.append("name", consumer.name)
                    $0.append("next", consumer.next)
                    $0.append("credit", consumer.credit)
                }
            }
            $0.append("pauses", pauses) { $1.write(to: &$0) }
        }
    }
}
