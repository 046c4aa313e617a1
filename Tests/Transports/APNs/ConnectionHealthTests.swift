import NIOCore
import Testing

@testable import TransportAPNs

@Suite struct ConnectionHealthTests {
    private static let start = NIODeadline.uptimeNanoseconds(1_000)

    private func check(_ health: inout ConnectionHealth, after time: TimeAmount, isBusy: Bool)
        -> ConnectionHealth.Finding
    {
        health.check(at: Self.start + time, isBusy: isBusy)
    }

    @Test func `with requests in flight, a silent server gets a PING after fifteen seconds`() {
        var health = ConnectionHealth(at: Self.start)
        #expect(check(&health, after: .seconds(15), isBusy: true) == .healthy)
        #expect(check(&health, after: .seconds(16), isBusy: true) == .sendPing)
        #expect(
            check(&health, after: .seconds(26), isBusy: true) == .healthy,
            "the server has ten seconds to answer, and gets no second PING")
        #expect(check(&health, after: .seconds(27), isBusy: true) == .dead)
    }

    @Test func `an idle connection gets a PING after fifty-five minutes`() {
        var health = ConnectionHealth(at: Self.start)
        #expect(check(&health, after: .minutes(55), isBusy: false) == .healthy)
        #expect(check(&health, after: .minutes(56), isBusy: false) == .sendPing)
        #expect(check(&health, after: .minutes(57), isBusy: false) == .dead)
    }

    @Test func `any bytes from the server prove that it is alive`() {
        var health = ConnectionHealth(at: Self.start)
        #expect(check(&health, after: .seconds(16), isBusy: true) == .sendPing)
        health.noteRead(at: Self.start + .seconds(20))
        #expect(check(&health, after: .seconds(35), isBusy: true) == .healthy)
        #expect(check(&health, after: .seconds(36), isBusy: true) == .sendPing)
    }
}
