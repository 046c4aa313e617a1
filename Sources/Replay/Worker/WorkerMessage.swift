import JSON
import PipelineKit
import PipelineRuntime
import Time

/// A message from a replay to a program that runs a stage.
///
/// A message is one line of JSON with a `type`, followed by as many bytes as its member `bytes` says.
enum WorkerRequest {
    case begin(WorkerBeginning)
    case restore(version: Int, position: UInt64, sequence: UInt64, now: Instant, state: [UInt8])
    case receive(lines: [UInt8], first: UInt64, now: Instant)
    case advance(now: Instant)
    /// Answers the delivery before this message, or an earlier delivery. The replay has replied to the earlier delivery
    /// with `later`, or with a first answer that said that the push is still in flight.
    case answer(TransportAnswer)
    /// The delivery before this message is answered later, or never.
    case later
}

/// The program's reply.
enum WorkerReply {
    /// Replies to `begin` and `restore`, with the version of the snapshots that the program can restore; nil if it can
    /// restore none.
    case ready(snapshotVersion: Int?, deadline: Instant?)
    case done(WorkerOutput)
    /// A push, or the notice that a device was retired. The replay must reply with `answer` or `later` at once.
    case deliver(Delivery)
    case failed(reason: String)
}

/// The stage that a program has to run.
struct WorkerBeginning {
    /// The version of the protocol.
    static let version: UInt64 = 2

    var stage: String
    var kind: String
    var context: StageContext
    /// A JSON object: the stage's settings without the keys that every stage has.
    var settings: String
    /// The recorded settings, which are used instead of `settings`. But if this list has no settings for this kind of
    /// stage, or if the stage takes no snapshots, `settings` is used.
    var history: [SettingsHistory.Entry]
}

/// The output that a request led to.
struct WorkerOutput {
    var count = 0
    var lines: [UInt8] = []
    var marks: [MachineOutput.Mark] = []
    var rejected: [Outbox.Rejected] = []
    var deadline: Instant?
}

/// A message that breaks the protocol.
struct InvalidMessage: Error {
    var reason: String

    init(_ reason: String) { self.reason = reason }
}
