import PipelineKit
import Synchronization
import Testing

@testable import BelfryTool

struct PushWriterTests {
    private final class WrittenText: Sendable {
        private let bytes = Mutex<[UInt8]>([])
        var text: String { bytes.withLock { String(decoding: $0, as: UTF8.self) } }
        func write(_ more: [UInt8]) { bytes.withLock { $0 += more } }
    }

    private func push(_ text: String) -> Delivery {
        Delivery(id: Delivery.ID(push: 1, device: "d"), transport: "t", line: Array(text.utf8))
    }

    @Test func `the pushes of the first deliver stage are written at once, and all others at the end`() {
        let output = WrittenText()
        let writer = PushWriter { output.write($0) }
        let (first, second) = (writer.sink(for: "deliver"), writer.sink(for: "archive"))
        second([push("b1")])
        first([push("a1"), push("a2")])
        #expect(output.text == "a1\na2\n")
        second([push("b2")])
        writer.finish()
        #expect(output.text == "a1\na2\nb1\nb2\n")
        #expect(writer.pushes == 4)
    }

    @Test func `nothing more is written after the output was closed`() {
        let calls = Atomic(0)
        let writer = PushWriter { _ throws(OutputError) in
            calls.add(1, ordering: .relaxed)
            throw .closed
        }
        let sink = writer.sink(for: "deliver")
        sink([push("a")])
        sink([push("b")])
        #expect(writer.failure == .closed)
        #expect(calls.load(ordering: .relaxed) == 1)
    }
}
