import Foundation
import NATS
import PipelineKit

extension JetStreamHome {
    /// The home that a pipeline file describes. Connects to no server yet.
    ///
    /// - Parameters:
    ///   - host: The name of this host; nil for the machine's own name.
    ///   - say: Tells the operator something.
    /// - Throws: ``PipelineKit/SettingsError`` if an address is invalid, or if a secret cannot be read or used.
    package convenience init(
        _ settings: HomeSettings, pipeline: String, host: String? = nil, say: @escaping @Sendable (String) -> Void
    ) throws {
        let servers = try JetStreamHome.connection(settings)
        self.init(
            Settings(
                pipeline: pipeline, servers: servers, replicas: settings.replicas, host: host ?? .hostName),
            say: say)
    }

    /// How to connect, with credentials.
    static func connection(_ settings: HomeSettings) throws -> NATSSettings {
        var servers = try check(settings)
        servers.credentials = try settings.credentials
        return servers
    }

    /// Checks what can be checked without the secrets and without the servers.
    ///
    /// - Returns: How to connect, without credentials.
    @discardableResult
    package static func check(_ settings: HomeSettings) throws -> NATSSettings {
        var servers: NATSSettings
        do throws(NATSError) { servers = try NATSSettings(servers: settings.servers) } catch {
            throw settings.place.fail("servers", error.problem)
        }
        if let tls = settings.tls {
            var trust = NATSTrust(authorities: tls.authorities)
            if let certificate = tls.certificate, let key = tls.key {
                trust.identity = NATSTrust.Identity(certificate: certificate, key: key)
            }
            servers.trust = trust
        }
        if case .credentials(let file) = settings.login, file.path == nil {
            throw file.failure(
                "cannot be used for 'credentials', because the file is read again for each connection",
                hint: "write {$file: PATH} or {$credential: NAME}")
        }
        return servers
    }
}

extension HomeSettings {
    fileprivate var credentials: NATSCredentials {
        get throws {
            switch login {
            case .none: return .none
            case .user(let name, let password): return .user(name, password: try password.reveal())
            case .nkey(let seed):
                let text = try seed.reveal()
                do throws(NATSError) { return .nkey(try NKeySeed(text)) } catch { throw seed.failure(error.problem) }
            case .credentials(let file):
                _ = try file.reveal()
                return .file(file.path ?? "")
            }
        }
    }
}
