import NIOCore
import Testing

@testable import TransportAPNs

@Suite struct ConnectionHealthTests {
    private static let start = NIODeadline.uptimeNanoseconds(1_000)

    private func check(_ signs: inout ConnectionHealth, after time: TimeAmount, isBusy: Bool)
        -> ConnectionHealth.Finding
    {
        signs.check(at: Self.start + time, isBusy: isBusy)
    }

    @Test func `with requests in flight, a silent server gets a PING after fifteen seconds`() {
        var signs = ConnectionHealth(at: Self.start)
        #expect(check(&signs, after: .seconds(15), isBusy: true) == .healthy)
        #expect(check(&signs, after: .seconds(16), isBusy: true) == .sendPing)
        #expect(check(&signs, after: .seconds(26), isBusy: true) == .healthy, "it has ten seconds, and gets one PING")
        #expect(check(&signs, after: .seconds(27), isBusy: true) == .dead)
    }

    @Test func `an idle connection gets a PING after fifty-five minutes`() {
        var signs = ConnectionHealth(at: Self.start)
        #expect(check(&signs, after: .minutes(55), isBusy: false) == .healthy)
        #expect(check(&signs, after: .minutes(56), isBusy: false) == .sendPing)
        #expect(check(&signs, after: .minutes(57), isBusy: false) == .dead)
    }

    @Test func `any bytes from the server prove that it is alive`() {
        var signs = ConnectionHealth(at: Self.start)
        #expect(check(&signs, after: .seconds(16), isBusy: true) == .sendPing)
        signs.noteRead(at: Self.start + .seconds(20))
        #expect(check(&signs, after: .seconds(35), isBusy: true) == .healthy)
        #expect(check(&signs, after: .seconds(36), isBusy: true) == .sendPing)
    }
}
