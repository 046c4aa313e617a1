import TestSupport
import Testing

@testable import Match

@Suite struct HashedNumbersTests {
    /// Compares a table with a dictionary. Hashes often collide, and numbers are removed as often as they are added.
    @Test func `a table finds exactly the numbers that it contains`() {
        var random = Seeded(Seeded.ofThisRun)
        var (numbers, model) = (HashedNumbers(capacity: 1), [Int32: Int]())
        for step in 0..<20_000 {
            let number = Int32(random.below(400))
            if let hash = model[number], random.isOneIn(2) {
                numbers.remove(number, hash)
                model[number] = nil
            } else if model[number] == nil {
                let hash = random.below(60) << 32 | random.below(1 << 20)
                numbers.insert(number, hash)
                model[number] = hash
            }
            #expect(numbers.count == model.count)
            if step % 200 == 0 { check(numbers, model) }
        }
        check(numbers, model)
    }

    private func check(_ numbers: HashedNumbers, _ model: [Int32: Int]) {
        for number in Int32(0)..<400 {
            let hash = model[number] ?? (Int(number) % 60) << 32
            #expect(numbers.find(hash) { $0 == number } == (model[number] == nil ? nil : number))
        }
    }

    @Test func `reserving capacity keeps a number, and removing another number or another hash changes nothing`() {
        var numbers = HashedNumbers()
        numbers.insert(7, -1)
        numbers.reserveCapacity(10_000)
        numbers.remove(8, -1)
        numbers.remove(7, 1)
        #expect(numbers.count == 1)
        #expect(numbers.find(-1) { _ in true } == 7)
        #expect(numbers.find(0) { _ in true } == nil)
    }
}
