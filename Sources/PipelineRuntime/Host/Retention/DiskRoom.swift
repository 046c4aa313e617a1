import EventLog
import Time
import ZeroMQ

/// Whether the disk has room for a stage's logs. While there is no room, the stage takes no input and tries again every
/// ``pause``.
struct DiskRoom {
    static let pause = Duration.milliseconds(200)

    let stage: String
    private(set) var shortage: HostReport.Shortage?
    private var nextTry: ContinuousClock.Instant?

    init(stage: String) { self.stage = stage }

    func mayTry(at time: ContinuousClock.Instant) -> Bool { nextTry.map { time >= $0 } ?? true }

    /// Notes an error that is a lack of room, and reports the first of several in a row. Throws any other error again.
    mutating func note<Failure: Error>(_ error: Failure, at time: ContinuousClock.Instant) throws(Failure) {
        guard let new = HostReport.Shortage(error) else { throw error }
        if shortage == nil {
            StandardError.write("\(stage): disk full: \(error); no input is taken until there is room")
        }
        (shortage, nextTry) = (new, time + DiskRoom.pause)
    }

    mutating func noteRoom() {
        guard let shortage else { return }
        StandardError.write("\(stage): there is room again in \(shortage.file); continuing")
        (self.shortage, nextTry) = (nil, nil)
    }
}

extension HostReport.Shortage {
    /// Nil if the error is not a lack of room.
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
