import EventLog
import Testing

@Suite struct SyncPolicyTests {
    @Test(
        arguments: [
            ("always", .always), ("never", .never), ("interval 50ms", .interval(.milliseconds(50))),
            ("interval 2s", .interval(.seconds(2))), ("interval 250us", .interval(.microseconds(250))),
        ] as [(String, SyncPolicy)])
    func `a policy is read from its text and written back`(text: String, policy: SyncPolicy) {
        #expect(SyncPolicy(text) == policy)
        #expect(policy.description == text)
    }

    @Test(arguments: [
        "", "Always", "interval", "interval ", "interval 5", "interval 0s", "interval -1s", "interval 5 ms",
        "interval 5m",
    ])
    func `an invalid policy is refused`(text: String) {
        #expect(SyncPolicy(text) == nil)
    }
}
