import Synchronization

/// A fault that a simulation causes.
enum Fault: String, CaseIterable, Sendable {
    case processKilled = "process killed between turns"
    case killedInACall = "process killed inside a system call"
    case outputsCut = "process ended in the middle of an event's or a wake's outputs"
    case stopped = "process stopped and started"
    case powerCut = "power cut"
    case bytesLost = "bytes lost in a power cut"
    case bytesZeroed = "bytes zeroed in a power cut"
    case diskFull = "no room on the disk"
    case writeFailed = "write failed"
    case syncFailed = "sync failed"
    case shortWrite = "short write"
    case interrupted = "system call interrupted"
    case connectionLost = "connection lost"
    case messagesLost = "messages lost with a connection"
    case frameCut = "frame cut"
    case slowMessage = "message late"
    case clockBack = "clock set back"
    case clockAhead = "clock set ahead"
    case producerKilled = "producer killed"
    case linesRepeated = "lines sent again"
    case answersLate = "answers late"
    case answersShuffled = "answers in another order"
    case answersLost = "pushes unanswered when their process died"
    case snapshotLost = "snapshot lost"
    case snapshotDamaged = "snapshot damaged"
    case snapshotForeign = "snapshot of another log"
    case pushRepeated = "push sent again or its status queried"
    case pushLate = "push reported as still in flight"
    case lateAnswered = "push in flight answered without a status query"
    case lateRepeated = "push in flight sent again by another process or transport"
    case pushDeferred = "push deferred by its transport"
    case appStopped = "app refused by its transport"
    case addressGone = "token refused by its transport"
    case noticeFailed = "notice of a retired device failed"
}

/// Counts how often each fault happened.
final class FaultCounts: Sendable {
    private let counts = Mutex<[Fault: Int]>([:])

    func note(_ fault: Fault, _ count: Int = 1) { counts.withLock { $0[fault, default: 0] += count } }

    subscript(fault: Fault) -> Int { counts.withLock { $0[fault] ?? 0 } }

    func add(_ other: FaultCounts) {
        for fault in Fault.allCases { note(fault, other[fault]) }
    }

    var text: String { Fault.allCases.map { "\($0.rawValue): \(self[$0])" }.joined(separator: ", ") }
}
