import BuiltIns
import JSON
import PipelineKit
import Testing

@testable import BelfryTool
@testable import Inspect

/// The entries of a device are its registrations and unregistrations. The last accepted entry decides whether
/// `belfry push test` sends to the device, and with which token.
@Suite struct TestDeviceTests {
    private func entry(_ token: String, at transport: String) throws -> DeviceHistory.Entry {
        let event = #"{"container":"c","environment":"development","transport":"\#(transport)","token":"\#(token)"}"#
        var parser = JSONParser()
        let address = try Array(event.utf8).withUnsafeBytes { DeviceAddress(try parser.parse($0)) }
        return DeviceHistory.Entry(sequence: 1, now: .epoch, address: address)
    }

    @Test func `every entry is accepted, except a registration with a token that its transport rejects`() throws {
        let kinds = Registry.builtIns.transports
        #expect(try !entry("nothex!!", at: "apns").isAccepted(by: kinds))
        #expect(try entry("6a0f", at: "apns").isAccepted(by: kinds))
        #expect(try entry("nothex!!", at: "file").isAccepted(by: kinds))
        #expect(try entry("nothex!!", at: "pigeon").isAccepted(by: kinds))
        #expect(DeviceHistory.Entry(sequence: 1, now: .epoch, address: nil).isAccepted(by: kinds))
    }
}
