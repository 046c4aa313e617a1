import JSON
import PipelineKit
import PipelineRuntime
import Time

/// What a replay asks a program that does a stage's work.
///
/// A message is one line of JSON with a `type`, and behind its line feed as many bytes as its `bytes` says.
enum WorkerRequest {
    case begin(WorkerBeginning)
    /// Takes over a snapshot's state.
    case restore(version: Int, position: UInt64, sequence: UInt64, now: Instant, state: [UInt8])
    case receive(lines: [UInt8], first: UInt64, now: Instant)
    case advance(now: Instant)
    /// To the delivery before it, or to one that was to be answered later.
    case answer(TransportAnswer)
    /// The delivery before it is answered later, or never.
    case later
}

/// What it answers.
enum WorkerReply {
    /// To `begin` and `restore`. `snapshots` is the form of the snapshots that it can take over.
    case ready(snapshots: Int?, deadline: Instant?)
    case done(WorkerOutput)
    /// A push: what becomes of its answer is to be said before anything else.
    case deliver(Delivery)
    case failed(reason: String)
}

/// Which stage a program is to be.
struct WorkerBeginning {
    static let version: UInt64 = 2

    var stage: String
    var kind: String
    var context: StageContext
    /// A JSON object: the stage's settings without the keys that every stage has.
    var settings: String
    /// The settings that count in their place, each from where on.
    var history: [SettingsHistory.Entry]
}

/// What an input gave.
struct WorkerOutput {
    var count = 0
    var lines: [UInt8] = []
    var marks: [MachineOutput.Mark] = []
    var rejected: [Outbox.Rejected] = []
    var deadline: Instant?
}

/// A message that is not what the protocol says.
struct WorkerNonsense: Error {
    var reason: String

    init(_ reason: String) { self.reason = reason }
}
