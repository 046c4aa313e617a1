import NATS
import Synchronization

@testable import JetStream

extension TestStream {
    func writer(
        _ host: String, last: UInt64, onDelay: @escaping (WriterDelay?) -> Void = { _ in }
    ) -> StreamWriter {
        StreamWriter(
            jetStream.connection, name, name: WriterName(host: host), last: last, settings: .forTests,
            onDelay: onDelay)
    }
}

extension StreamWriter.Settings {
    static var forTests: StreamWriter.Settings {
        var settings = StreamWriter.Settings()
        (settings.answerTimeout, settings.pause) = (.seconds(1), .milliseconds(10))
        return settings
    }
}

/// The calls of a writer's `onDelay`.
final class Delays: Sendable {
    private let delays = Mutex<[WriterDelay?]>([])
    func add(_ delay: WriterDelay?) { delays.withLock { $0.append(delay) } }
    var all: [WriterDelay?] { delays.withLock { $0 } }
}
