import NIOCore
import Testing

@testable import TransportAPNs

@Suite struct LifeSignsTests {
    private static let start = NIODeadline.uptimeNanoseconds(1_000)

    private func check(_ signs: inout LifeSigns, after time: TimeAmount, isBusy: Bool) -> LifeSigns.Finding {
        signs.check(at: Self.start + time, isBusy: isBusy)
    }

    @Test func aSilentServerIsAskedAfterFifteenSecondsWhereRequestsWait() {
        var signs = LifeSigns(at: Self.start)
        #expect(check(&signs, after: .seconds(15), isBusy: true) == .well)
        #expect(check(&signs, after: .seconds(16), isBusy: true) == .ask)
        #expect(check(&signs, after: .seconds(26), isBusy: true) == .well, "it has ten seconds, and is asked once")
        #expect(check(&signs, after: .seconds(27), isBusy: true) == .dead)
    }

    @Test func anIdleConnectionIsAskedAfterFiftyFiveMinutes() {
        var signs = LifeSigns(at: Self.start)
        #expect(check(&signs, after: .minutes(55), isBusy: false) == .well)
        #expect(check(&signs, after: .minutes(56), isBusy: false) == .ask)
        #expect(check(&signs, after: .minutes(57), isBusy: false) == .dead)
    }

    @Test func whateverTheServerSendsIsASignOfLife() {
        var signs = LifeSigns(at: Self.start)
        #expect(check(&signs, after: .seconds(16), isBusy: true) == .ask)
        signs.noteRead(at: Self.start + .seconds(20))
        #expect(check(&signs, after: .seconds(35), isBusy: true) == .well)
        #expect(check(&signs, after: .seconds(36), isBusy: true) == .ask)
    }
}
