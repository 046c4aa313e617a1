import HTTPServer

/// The client for whom a read is done.
enum Reader: Hashable, Sendable {
    case user(String, container: String)
    /// A client that has not signed in.
    case client(ClientNetwork)
}

/// Jobs that wait until they may begin. Readers take turns, and one reader may run only a few jobs at once. The jobs of
/// a reader begin in the order in which they came.
struct ReadQueue<Job> {
    private struct Place {
        var waiting: [Job] = []
        var running = 0
        var isInTurn = false
    }

    /// How many jobs of one reader may run at once.
    private let runningMax: Int
    /// The readers with a job that waits or runs.
    private var places: [Reader: Place] = [:]
    /// The readers whose next waiting job may begin, in the order of their turns.
    private var turns: [Reader] = []

    init(runningMax: Int) { self.runningMax = runningMax }

    mutating func add(_ job: Job, of reader: Reader) {
        places[reader, default: Place()].waiting.append(job)
        takeTurn(reader)
    }

    /// Takes the next job, which then counts as running. Nil if no waiting job may begin.
    mutating func next() -> (job: Job, reader: Reader)? {
        guard !turns.isEmpty else { return nil }
        let reader = turns.removeFirst()
        guard let job = places[reader]?.waiting.removeFirst() else { return nil }
        places[reader]?.running += 1
        places[reader]?.isInTurn = false
        takeTurn(reader)
        return (job, reader)
    }

    /// Notes that a job of the reader has ended.
    mutating func end(of reader: Reader) {
        places[reader]?.running -= 1
        takeTurn(reader)
        if let place = places[reader], place.running == 0, place.waiting.isEmpty { places[reader] = nil }
    }

    private mutating func takeTurn(_ reader: Reader) {
        guard let place = places[reader], !place.isInTurn, !place.waiting.isEmpty, place.running < runningMax else {
            return
        }
        places[reader]?.isInTurn = true
        turns.append(reader)
    }
}
