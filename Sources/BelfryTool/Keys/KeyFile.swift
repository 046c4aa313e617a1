import Glibc
import PipelineKit
import PipelineRuntime
import ZeroMQ

/// A file with one secret CURVE key, 40 characters of Z85, that its owner alone may use.
struct KeyFile {
    let path: String

    /// Where the key lies that is to follow this one.
    var next: KeyFile { KeyFile(path: path + ".next") }

    var exists: Bool { access(path, F_OK) == 0 }

    /// - Throws: ``ToolFailure`` with 66 where there is no file, else 78.
    func pair() throws -> CurveKeyPair {
        guard exists else { throw ToolFailure(.noInput, "there is no key file \(path); belfry keys make \(path)") }
        let text = try SecretFile.read(path)
        do throws(ZMQError) { return try CurveKeyPair(secretKey: CurveSecretKey(z85: text)) } catch {
            throw ToolFailure(.configuration, "\(path) holds no secret key: that has 40 characters of Z85")
        }
    }

    /// Makes a new key.
    ///
    /// - Throws: ``ToolFailure`` with 73 where the file exists, or cannot be made.
    func make() throws -> CurveKeyPair {
        let pair = try CurveKeyPair.generate()
        do throws(AtomicTextFileError) { try AtomicTextFile.make(path, holding: pair.secretKey.z85 + "\n") } catch {
            if case .failed(_, _, EEXIST) = error {
                throw ToolFailure(.cannotCreate, "\(path): it exists, and a key is never overwritten")
            }
            throw ToolFailure(.cannotCreate, error.description)
        }
        return pair
    }

    /// Puts the next key in this one's place. A process that reads the file meanwhile gets one of the two.
    func takeNext() throws -> CurveKeyPair {
        guard next.exists else {
            throw ToolFailure(.noInput, "there is no \(next.path): `belfry keys rotate \(path)` makes it")
        }
        let pair = try next.pair()
        guard rename(next.path, path) == 0 else {
            throw ToolFailure(.inputOutput, "\(path): \(String(cString: strerror(errno)))")
        }
        return pair
    }
}
