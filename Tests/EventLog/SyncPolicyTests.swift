import EventLog
import Testing

@Suite struct SyncPolicyTests {
    @Test(
        arguments: [
            ("always", .always), ("never", .never), ("interval 50ms", .interval(.milliseconds(50))),
            ("interval 2s", .interval(.seconds(2))), ("interval 250us", .interval(.microseconds(250))),
        ] as [(String, SyncPolicy)])
    func readsAndWrites(text: String, policy: SyncPolicy) {
        #expect(SyncPolicy(text) == policy)
        #expect(policy.description == text)
    }

    @Test(arguments: [
        "", "Always", "interval", "interval ", "interval 5", "interval 0s", "interval -1s", "interval 5 ms",
        "interval 5m",
    ])
    func refuses(text: String) {
        #expect(SyncPolicy(text) == nil)
    }
}
