import PipelineKit
import Synchronization
import Testing

@testable import PipelineRuntime

/// A window is handed out in parts that its transports have room for.
@Suite struct TransportCrewTests {
    @Test func `a part ends between two pushes`() {
        let lane = RecordedLane(inFlightMax: 4)
        let crew = TransportCrew(lanes: ["apns": lane.lane])
        crew.deliver(pushes([(1, 3), (2, 1), (3, 2)]))
        #expect(lane.parts == [["1 d0", "1 d1", "1 d2", "2 d0"]])
        #expect(crew.cut?.push == 3 && crew.cut?.isWithinPush == false)
        #expect(!crew.isIdle && !crew.canGoOn)
        answer(lane, crew)
        #expect(!crew.isIdle && crew.canGoOn)
        crew.goOn()
        #expect(lane.parts.last == ["3 d0", "3 d1"] && crew.cut == nil)
        answer(lane, crew)
        #expect(crew.isIdle)
    }

    @Test func `a push to more devices than there is room for goes out in parts`() {
        let lane = RecordedLane(inFlightMax: 2)
        let crew = TransportCrew(lanes: ["apns": lane.lane])
        crew.deliver(pushes([(1, 1), (2, 5)]))
        #expect(lane.parts == [["1 d0"]])
        #expect(crew.cut?.push == 2 && crew.cut?.isWithinPush == false)
        for part in [["2 d0", "2 d1"], ["2 d2", "2 d3"]] {
            answer(lane, crew)
            crew.goOn()
            #expect(lane.parts.last == part && crew.cut?.push == 2 && crew.cut?.isWithinPush == true)
        }
        answer(lane, crew)
        crew.goOn()
        #expect(lane.parts.last == ["2 d4"] && crew.cut == nil)
    }

    @Test func `each transport has its own room, and one without a limit takes all`() {
        let (narrow, wide) = (RecordedLane(inFlightMax: 1), RecordedLane(inFlightMax: .max))
        let crew = TransportCrew(lanes: ["apns": narrow.lane, "file": wide.lane])
        crew.deliver(pushes([(1, 1)]) + pushes([(2, 3)], to: "file") + pushes([(3, 1)]))
        #expect(narrow.parts == [["1 d0"]] && wide.parts == [["2 d0", "2 d1", "2 d2"]])
        #expect(crew.windowMax == .max)
    }

    @Test func `no room counts as room for one`() {
        let lane = RecordedLane(inFlightMax: 0)
        let crew = TransportCrew(lanes: ["apns": lane.lane])
        crew.deliver(pushes([(1, 1), (2, 1)]))
        #expect(lane.parts == [["1 d0"]] && crew.windowMax == 1)
    }

    @Test func `a part that cannot be noted goes out later`() {
        let lane = RecordedLane(inFlightMax: 2)
        let crew = TransportCrew(lanes: ["apns": lane.lane])
        crew.deliver(pushes([(1, 3), (2, 1)])) { _ in nil }
        #expect(lane.parts.isEmpty && crew.canGoOn && !crew.isIdle)
        #expect(crew.cut?.push == 1 && crew.cut?.isWithinPush == false)
        var noted: [Delivery.ID] = []
        crew.goOn { part in
            noted = part.map(\.id)
            return .init(pushes: part)
        }
        #expect(lane.parts == [["1 d0", "1 d1"]] && noted == lane.last && !crew.canGoOn)
    }

    @Test func `a part that nothing of goes out is answered at once`() {
        let lane = RecordedLane(inFlightMax: 2)
        let crew = TransportCrew(lanes: ["apns": lane.lane])
        crew.deliver(pushes([(1, 2), (2, 1)])) { part in
            .init(pushes: [], answers: part.map { TransportAnswer($0.id, .deferred) })
        }
        #expect(lane.parts.isEmpty && crew.hasAnswers && crew.takeAnswers()?.count == 2 && crew.canGoOn)
    }

    private func answer(_ lane: RecordedLane, _ crew: TransportCrew) {
        crew.take(lane.last.map { TransportAnswer($0, .accepted) })
        #expect(crew.takeAnswers()?.count == lane.last.count)
    }

    private func pushes(_ counts: [(UInt64, devices: Int)], to transport: String = "apns") -> [Delivery] {
        counts.flatMap { push, devices in
            (0..<devices).map {
                Delivery(id: .init(push: push, device: "d\($0)"), transport: transport, line: Array("{}".utf8))
            }
        }
    }
}

/// What came through a lane.
private final class RecordedLane: Sendable {
    private let handedOut = Mutex<[[Delivery.ID]]>([])
    private let inFlightMax: Int

    init(inFlightMax: Int) { self.inFlightMax = inFlightMax }

    var lane: TransportCrew.Lane {
        .init(
            send: { window in self.handedOut.withLock { $0.append(window.map(\.id)) } },
            inFlightMax: { [inFlightMax] in inFlightMax })
    }

    var last: [Delivery.ID] { handedOut.withLock { $0.last ?? [] } }
    var parts: [[String]] { handedOut.withLock { $0.map { $0.map { "\($0.push) \($0.device)" } } } }
}

extension TransportCrew {
    fileprivate func deliver(_ deliveries: [Delivery]) { deliver(deliveries) { .init(pushes: $0) } }
    fileprivate func goOn() { goOn { .init(pushes: $0) } }
}
