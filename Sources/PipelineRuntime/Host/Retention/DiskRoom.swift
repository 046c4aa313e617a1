import EventLog
import Time
import ZeroMQ

/// Whether a stage's logs have room. While they have none, the stage takes nothing in and tries again now and then.
struct DiskRoom {
    typealias Shortage = HostReport.Shortage

    /// How long a full disk is left alone between two tries.
    static let pause = Duration.milliseconds(200)

    let stage: String
    private(set) var shortage: Shortage?
    private var nextTry: ContinuousClock.Instant?

    init(stage: String) { self.stage = stage }

    func mayTry(at time: ContinuousClock.Instant) -> Bool { nextTry.map { time >= $0 } ?? true }

    /// Takes note of a failure, and says so where it is news.
    ///
    /// - Throws: The failure, where room would not help.
    mutating func note<Failure: Error>(_ error: Failure, at time: ContinuousClock.Instant) throws(Failure) {
        guard let new = Shortage(error) else { throw error }
        if shortage == nil { StandardError.write("\(stage): disk full: \(error); no input is taken until there is") }
        (shortage, nextTry) = (new, time + DiskRoom.pause)
    }

    /// Takes note that something was appended.
    mutating func noteRoom() {
        guard let shortage else { return }
        StandardError.write("\(stage): there is room again in \(shortage.file); going on")
        (self.shortage, nextTry) = (nil, nil)
    }
}

extension HostReport.Shortage {
    /// Nil where the error is no lack of room.
    init?(_ error: any Error) {
        switch error {
        case EventLogError.full(let file, let bytesNeeded, _): self.init(file: file, bytesNeeded: bytesNeeded)
        case EventLogError.failed(_, let file, let code) where EventLogError.isLackOfRoom(code):
            self.init(file: file, bytesNeeded: 0)
        case AtomicTextFileError.failed(_, let file, let code) where EventLogError.isLackOfRoom(code):
            self.init(file: file, bytesNeeded: 0)
        case let error as ZMQError where EventLogError.isLackOfRoom(error.code):
            self.init(file: error.endpoint ?? "", bytesNeeded: 0)
        default: return nil
        }
    }
}
