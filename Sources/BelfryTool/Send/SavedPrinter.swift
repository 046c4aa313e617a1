import Events
import JSON
import PipelineKit

/// Prints each saved subscription, with the change from which it is active. People get lines for the first few
/// subscriptions and the number of the others; programs get NDJSON. Belongs to one thread.
final class SavedPrinter {
    private let isForPeople: Bool
    private let write: (String) throws(OutputError) -> Void
    private var count = 0
    private var hasFailed = false

    private static let linesMax = 20

    init(
        isForPeople: Bool,
        write: @escaping (String) throws(OutputError) -> Void = { (line) throws(OutputError) in
            try StandardOutput.write(line: line)
        }
    ) {
        (self.isForPeople, self.write) = (isForPeople, write)
    }

    func print(_ saved: LineSender.Saved) {
        count += 1
        guard isForPeople else { return writeUnlessFailed(saved.json) }
        if count <= SavedPrinter.linesMax { writeUnlessFailed(saved.text) }
    }

    /// Prints how many subscriptions the lines for people do not show.
    func finish() {
        guard isForPeople, count > SavedPrinter.linesMax else { return }
        writeUnlessFailed("… and \((count - SavedPrinter.linesMax).of("more subscription"))")
    }

    private func writeUnlessFailed(_ line: String) {
        guard !hasFailed else { return }
        do throws(OutputError) { try write(line) } catch { hasFailed = true }
    }
}

extension LineSender.Saved {
    fileprivate var text: String {
        "\(source):\(line): \"\(answer.subscription.subscriptionID.printable)\" is active from change \(answer.activeFrom)"
    }

    fileprivate var json: String {
        ByteBuffer.object {
            $0.append("source", source)
            $0.append("line", self.line)
            $0.append(.subscriptionID, answer.subscription.subscriptionID)
            $0.append("activeFrom", answer.activeFrom)
            $0.append("warnings", answer.subscription.warnings) { $0.append(raw: $1.json) }
        }.text
    }
}

extension SavedSubscription.Warning {
    fileprivate var json: String {
        ByteBuffer.object {
            $0.append("code", code)
            $0.append("path", path)
            $0.append("offset", offset)
            $0.append("reason", reason)
        }.text
    }
}
