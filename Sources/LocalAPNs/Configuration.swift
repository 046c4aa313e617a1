import Foundation

extension LocalAPNs {
    /// The settings of a local APNs.
    package struct Configuration: Sendable {
        /// The environment of APNs that the server simulates.
        package var environment = Environment.development
        /// The address to listen on.
        package var host = "127.0.0.1"
        /// 0 means any free port.
        package var port = 2197
        /// Further host names in the server's certificate.
        package var names: [String] = []
        /// How many streams a connection may have open. A client without a certificate gets one stream at most until it
        /// has sent a valid token.
        package var streams = 1000
        /// The folder in which keys and certificates are made and kept.
        package var folder = ".belfry/apns-server"
        /// The ID of the server's own key: ten characters, like the IDs of Apple's keys.
        package var keyID = "KEYLOCAL12"
        /// The team of the server's own key: ten characters.
        package var team = "TEAMLOCAL1"
        /// A `.p8` file to use instead of a generated key.
        package var keyPath: String?
        /// The topic of the client certificate that the server generates.
        package var topic = "com.example.Notes"
        /// The bundle IDs that the server's own key is valid for, as with Apple's topic-specific keys. Nil if the key
        /// is valid for any app of the team.
        package var keyTopics: Set<String>?
        /// The environments that the server's own key is valid for.
        package var keyEnvironments = Set(Environment.allCases)
        /// Further keys whose provider tokens are accepted.
        package var keys: [SigningKey] = []
        /// Devices that are registered from the start. Unless ``isStrict``, other devices are accepted too.
        package var devices: [Device] = []
        /// Whether devices and apps that are not registered are rejected.
        package var isStrict = false
        package var script: [ScriptLine] = []
        /// The time in milliseconds since 1970.
        package var clock: @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1000) }
        /// At least this many of the newest records are kept for ``LocalAPNs/records``, and at most twice as many.
        package var recordsKept = 20_000
        /// Called on the server's thread for each record. Clients wait until it returns.
        package var onRecord: @Sendable (Record) -> Void = { _ in }

        /// A server for development on port 2197 of this machine.
        package init() {}
    }
}
