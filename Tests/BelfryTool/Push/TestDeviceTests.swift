import BuiltIns
import JSON
import PipelineKit
import Testing

@testable import BelfryTool
@testable import Inspect

/// Which registration `belfry push test` goes by: the last of those that deliver takes.
@Suite struct TestDevices {
    private func entry(_ token: String, at transport: String, isRegistration: Bool = true) -> DeviceHistory.Entry {
        let address = ["iCloud.com.example.Notes", "development", transport, "com.example.Notes"].map { ExactText($0) }
        return DeviceHistory.Entry(
            sequence: 1, now: .epoch, isRegistration: isRegistration, address: isRegistration ? address : [],
            token: ExactText(token))
    }

    @Test func `a registration that deliver sets aside counts for nothing`() {
        let kinds = Registry.builtIns.transports
        #expect(!entry("nothex!!", at: "apns").isTaken(by: kinds))
        #expect(entry("6a0f", at: "apns").isTaken(by: kinds))
        #expect(entry("nothex!!", at: "file").isTaken(by: kinds))
        #expect(entry("nothex!!", at: "pigeon").isTaken(by: kinds))
        #expect(entry("", at: "", isRegistration: false).isTaken(by: kinds))
    }
}
