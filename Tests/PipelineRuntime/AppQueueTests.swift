import PipelineKit
import Testing

@testable import PipelineRuntime

struct AppQueueTests {
    @Test func `the list of parked devices has a device once, however often its pushes are parked`() throws {
        var (queue, now) = (AppQueue(), ContinuousClock.now)
        func push(_ number: UInt64) -> Delivery {
            Delivery(
                id: .init(push: number, device: "d"), transport: "hook",
                app: .init(container: "app", environment: "production", topic: nil), destination: 7,
                head: Array("{}".utf8), rest: [], unpruned: nil)
        }
        queue.append(push(0))
        #expect(queue.next(room: 64, perDevice: 1, at: now)?.id.push == 0)
        for number in 1..<1_000 {
            queue.append(push(UInt64(number)))
            #expect(queue.next(room: 64, perDevice: 1, at: now) == nil, "the device has a push in flight")
            now += .milliseconds(1)
            queue.noteAnswer(7, after: .milliseconds(1), at: now, keepsDevice: false)
            #expect(queue.next(room: 64, perDevice: 1, at: now)?.id.push == UInt64(number))
        }
        #expect(queue.parkedDevices == [7])
    }
}
